-- SPDX-License-Identifier: GPL-2.0-or-later
-- The history of all nodes in ClickHouse, release 18.16 or newer. doc/history.md describes the columns.
--
--   clickhouse-client --multiquery < schema.sql
--   clickhouse-client --multiquery < views.sql
--
-- Run upgrade.sql on a table that an older jobio made.
--
-- One row for each mount of a step on a node; the rows of a step repeat the columns of the step and of its
-- job. A row that is delivered again replaces the earlier one when ClickHouse merges its parts; until then
-- FINAL (as in the views) selects the newest version only.
--
-- On a cluster: ON CLUSTER name, ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/jobio/io',
-- '{replica}', version), and a Distributed table that is sharded by cityHash64(cluster, jobid), so
-- that all versions of a row are in one shard.

CREATE DATABASE IF NOT EXISTS jobio;

CREATE TABLE IF NOT EXISTS jobio.io (
    cluster String,
    jobid UInt32,
    restart UInt32,
    het UInt32,
    step UInt32,
    node String,
    tagged_at_ns UInt64,
    mount String,
    fstype String,
    source String,
    private UInt8,
    labelled UInt8,
    version UInt64,
    uid UInt32,
    user String,
    account String,
    `partition` String,
    name String,
    array_job UInt32,
    array_task UInt32,
    job_ended UInt8,
    start_ns UInt64,
    end_ns UInt64,
    job_elapsed_ns UInt64,
    nodes_expected UInt32,
    job_longest_wait_ns UInt64,
    job_lost UInt64,
    job_incomplete String,
    unsupported String,
    ns_per_event UInt64,
    step_name String,
    state String,
    folded UInt32,
    elapsed_ns UInt64,
    longest_wait_ns UInt64,
    lost UInt64,
    incomplete String,
    read_requests UInt64,
    read_bytes UInt64,
    read_errors UInt64,
    read_time_ns UInt64,
    read_max_ns UInt64,
    write_requests UInt64,
    write_bytes UInt64,
    write_errors UInt64,
    write_time_ns UInt64,
    write_max_ns UInt64,
    meta_requests UInt64,
    meta_errors UInt64,
    meta_time_ns UInt64,
    meta_max_ns UInt64,
    errors UInt64,
    wait_ns UInt64,
    cache_hit_bytes UInt64,
    cache_miss_bytes UInt64,
    fill_read_bytes UInt64,
    fill_fault_bytes UInt64,
    fill_prefetch_bytes UInt64,
    fill_write_bytes UInt64,
    op Array(String),
    op_requests Array(UInt64),
    op_async_requests Array(UInt64),
    op_sequential_requests Array(UInt64),
    op_random_requests Array(UInt64),
    op_bytes Array(UInt64),
    op_errors Array(UInt64),
    op_time_ns Array(UInt64),
    op_max_ns Array(UInt64),
    op_peak_bytes_per_s Array(UInt64),
    op_peak_requests_per_s Array(UInt64),
    op_job_peak_bytes_per_s Array(UInt64),
    op_job_peak_requests_per_s Array(UInt64),
    op_size_log2 Array(Array(UInt64)),
    op_latency_log2 Array(Array(UInt64)),
    op_errno Array(String),
    timeline_start_s UInt64,
    timeline_width_s UInt64,
    timeline_read_bytes Array(UInt64),
    timeline_write_bytes Array(UInt64),
    timeline_meta_requests Array(UInt64),
    timeline_wait_ns Array(UInt64),
    timeline_longest_wait_ns Array(UInt64),
    slurm_state String,
    exit_code UInt32,
    exit_signal UInt32,
    exit_known UInt8
)
ENGINE = ReplacingMergeTree(version)
PARTITION BY toYYYYMM(toDateTime(intDiv(tagged_at_ns, 1000000000), 'UTC'))
ORDER BY (cluster, jobid, restart, het, step, node, tagged_at_ns, mount, fstype, source, private);
