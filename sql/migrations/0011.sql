-- SPDX-License-Identifier: GPL-2.0-or-later
-- The part of the time of writes in which they were throttled.
ALTER TABLE io ADD COLUMN throttled_ns INTEGER NOT NULL DEFAULT 0;
