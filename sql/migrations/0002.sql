-- SPDX-License-Identifier: GPL-2.0-or-later
-- What the accounting cost a job: its calls times this.
ALTER TABLE job ADD COLUMN ns_per_event INTEGER NOT NULL DEFAULT 0;
