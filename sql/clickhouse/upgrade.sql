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
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_incomplete String AFTER exit_known;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS readers UInt64 AFTER mpi_incomplete;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS reader_threads UInt64 AFTER readers;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS readers_at_least UInt8 AFTER reader_threads;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS writers UInt64 AFTER readers_at_least;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS writer_threads UInt64 AFTER writers;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS writers_at_least UInt8 AFTER writer_threads;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_counted UInt8 AFTER writers_at_least;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_incomplete UInt8 AFTER rpc_counted;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_at_most UInt8 AFTER rpc_incomplete;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi Array(String) AFTER rpc_shared_at_most;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_calls Array(UInt64) AFTER mpi;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_errors Array(UInt64) AFTER mpi_calls;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_time_ns Array(UInt64) AFTER mpi_errors;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_bytes Array(UInt64) AFTER mpi_time_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_requested_bytes Array(UInt64) AFTER mpi_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_unknown_calls Array(UInt64)
    AFTER mpi_requested_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_size_log2 Array(Array(UInt64))
    AFTER mpi_unknown_calls;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS mpi_latency_log2 Array(Array(UInt64))
    AFTER mpi_size_log2;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc Array(String) AFTER mpi_latency_log2;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_calls Array(UInt64) AFTER rpc;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_errors Array(UInt64) AFTER rpc_calls;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_retransmissions Array(UInt64) AFTER rpc_errors;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_sent_bytes Array(UInt64)
    AFTER rpc_retransmissions;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_received_bytes Array(UInt64) AFTER rpc_sent_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_queued_ns Array(UInt64) AFTER rpc_received_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_server_ns Array(UInt64) AFTER rpc_queued_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_time_ns Array(UInt64) AFTER rpc_server_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared Array(String) AFTER rpc_time_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_calls Array(UInt64) AFTER rpc_shared;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_errors Array(UInt64)
    AFTER rpc_shared_calls;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_retransmissions Array(UInt64)
    AFTER rpc_shared_errors;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_sent_bytes Array(UInt64)
    AFTER rpc_shared_retransmissions;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_received_bytes Array(UInt64)
    AFTER rpc_shared_sent_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_queued_ns Array(UInt64)
    AFTER rpc_shared_received_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_server_ns Array(UInt64)
    AFTER rpc_shared_queued_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS rpc_shared_time_ns Array(UInt64)
    AFTER rpc_shared_server_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_counted UInt8 AFTER rpc_shared_time_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_incomplete UInt8 AFTER block_counted;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_at_most UInt8 AFTER block_incomplete;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block Array(String) AFTER block_shared_at_most;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_device Array(String) AFTER block;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_requests Array(UInt64) AFTER block_device;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_errors Array(UInt64) AFTER block_requests;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_bytes Array(UInt64) AFTER block_errors;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_queued_ns Array(UInt64) AFTER block_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_device_ns Array(UInt64) AFTER block_queued_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_latency_log2 Array(Array(UInt64))
    AFTER block_device_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared Array(String) AFTER block_latency_log2;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_device Array(String) AFTER block_shared;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_requests Array(UInt64)
    AFTER block_shared_device;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_errors Array(UInt64)
    AFTER block_shared_requests;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_bytes Array(UInt64)
    AFTER block_shared_errors;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_queued_ns Array(UInt64)
    AFTER block_shared_bytes;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_device_ns Array(UInt64)
    AFTER block_shared_queued_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS block_shared_latency_log2 Array(Array(UInt64))
    AFTER block_shared_device_ns;
ALTER TABLE jobio.io ADD COLUMN IF NOT EXISTS op_throttled_ns Array(UInt64) AFTER op_max_ns;
DROP TABLE IF EXISTS jobio.v_job;
DROP TABLE IF EXISTS jobio.v_row;
