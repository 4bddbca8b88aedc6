-- SPDX-License-Identifier: GPL-2.0-or-later
-- The cost of counting one call; times its calls it is the cost for a job.
ALTER TABLE job ADD COLUMN ns_per_event INTEGER NOT NULL DEFAULT 0;
