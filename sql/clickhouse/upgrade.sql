-- SPDX-License-Identifier: GPL-2.0-or-later
-- Adds the columns of newer releases of jobio to the table of schema.sql; safe to run twice. Run views.sql
-- again afterwards. ClickHouse has IF NOT EXISTS for columns since release 19.13; for older ones:
--
--   sed 's/COLUMN IF NOT EXISTS/COLUMN/' upgrade.sql | clickhouse-client --multiquery

ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS array_job UInt32 AFTER name;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS array_task UInt32 AFTER array_job;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS op_sequential_requests Array(UInt64)
    AFTER op_async_requests;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS op_random_requests Array(UInt64)
    AFTER op_sequential_requests;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_start_s UInt64 AFTER op_errno;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_width_s UInt64 AFTER timeline_start_s;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_read_bytes Array(UInt64)
    AFTER timeline_width_s;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_write_bytes Array(UInt64)
    AFTER timeline_read_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_meta_requests Array(UInt64)
    AFTER timeline_write_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_wait_ns Array(UInt64)
    AFTER timeline_meta_requests;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS timeline_longest_wait_ns Array(UInt64)
    AFTER timeline_wait_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS slurm_state String AFTER timeline_longest_wait_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS exit_code UInt32 AFTER slurm_state;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS exit_signal UInt32 AFTER exit_code;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS exit_known UInt8 AFTER exit_signal;
DROP TABLE IF EXISTS jobio.v_job;
DROP TABLE IF EXISTS jobio.v_row;
