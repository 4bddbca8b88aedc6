-- SPDX-License-Identifier: GPL-2.0-or-later
-- The views of the node's store (sql/schema.sql) over the rows of all nodes, with the same names and
-- columns. Times are in the server's time zone. Unknown names are empty strings (NULL in the store).
-- Inner queries rename columns, because ClickHouse would use an alias instead of the column of that name.

-- The newest version of each row, and its holder: 0 for the first holder of a job number, 1 and so on for
-- later ones, which started after the end of the previous one. (Release 18.16 does not notice that a lambda
-- needs start_ns, so it is listed once more.)
--
-- For each number, `events` has the starts (even) and the ends (odd) that its nodes saw, by time, and
-- `later` the starts that follow an end. It is empty for nearly all numbers, so that little is joined.
CREATE VIEW IF NOT EXISTS jobio.v_row AS
SELECT cluster, jobid, restart, het, step, node, tagged_at_ns, mount, fstype, source, private,
       labelled, version, uid, user, account, `partition`, name, array_job, array_task, job_ended,
       start_ns, end_ns, job_elapsed_ns, nodes_expected, job_longest_wait_ns, job_lost,
       job_incomplete, unsupported,
       ns_per_event, step_name, state, folded, elapsed_ns, longest_wait_ns, lost, incomplete,
       read_requests, read_bytes, read_errors, read_time_ns, read_max_ns, write_requests,
       write_bytes, write_errors, write_time_ns, write_max_ns, meta_requests, meta_errors,
       meta_time_ns, meta_max_ns, errors, wait_ns, cache_hit_bytes, cache_miss_bytes,
       fill_read_bytes, fill_fault_bytes, fill_prefetch_bytes, fill_write_bytes, op, op_requests,
       op_async_requests, op_sequential_requests, op_random_requests,
       op_bytes, op_errors, op_time_ns, op_max_ns, op_throttled_ns, op_peak_bytes_per_s,
       op_peak_requests_per_s, op_job_peak_bytes_per_s, op_job_peak_requests_per_s, op_size_log2,
       op_latency_log2, op_errno, timeline_start_s, timeline_width_s, timeline_read_bytes,
       timeline_write_bytes, timeline_meta_requests, timeline_wait_ns, timeline_longest_wait_ns,
       slurm_state, exit_code, exit_signal, exit_known,
       mpi_incomplete, readers, reader_threads, readers_at_least, writers, writer_threads,
       writers_at_least, rpc_counted, rpc_incomplete, rpc_shared_at_most, mpi, mpi_calls,
       mpi_errors, mpi_time_ns, mpi_bytes, mpi_requested_bytes, mpi_unknown_calls, mpi_size_log2,
       mpi_latency_log2, rpc, rpc_calls, rpc_errors, rpc_retransmissions, rpc_sent_bytes,
       rpc_received_bytes, rpc_queued_ns, rpc_server_ns, rpc_time_ns, rpc_shared, rpc_shared_calls,
       rpc_shared_errors, rpc_shared_retransmissions, rpc_shared_sent_bytes,
       rpc_shared_received_bytes, rpc_shared_queued_ns, rpc_shared_server_ns, rpc_shared_time_ns,
       block_counted, block_incomplete, block_shared_at_most, block, block_device,
       block_requests, block_errors, block_bytes, block_queued_ns, block_device_ns,
       block_latency_log2, block_shared, block_shared_device, block_shared_requests,
       block_shared_errors, block_shared_bytes, block_shared_queued_ns,
       block_shared_device_ns, block_shared_latency_log2,
       arrayCount(e -> e <= 2 * start_ns, later) + 0 * start_ns AS holder
FROM (SELECT * FROM jobio.io FINAL) ANY LEFT JOIN (
    SELECT cluster, jobid, restart, later FROM (
        SELECT cluster, jobid, restart,
               arrayFilter((e, before) -> e % 2 = 0 AND before % 2 = 1, events,
                           arrayPushFront(arrayPopBack(events), 0)) AS later
        FROM (
            SELECT cluster, jobid, restart,
                   arraySort(arrayConcat(groupUniqArray(2 * start_ns),
                                         groupUniqArrayIf(2 * end_ns + 1, job_ended = 1)))
                       AS events
            FROM jobio.io FINAL
            GROUP BY cluster, jobid, restart
        )
    )
    WHERE notEmpty(later)
) USING (cluster, jobid, restart);

-- A step on a node.
CREATE VIEW IF NOT EXISTS jobio.v_step AS
SELECT cluster, jobid, restart, user_ AS user,
       cityHash64(cluster, jobid, restart, het_, step_, node, tagged_at_ns) AS step_id,
       if(het_ = 4294967294, NULL, het_) AS het, name_ AS step, node, state_ AS state,
       toDateTime(intDiv(tagged_at_ns, 1000000000)) AS start,
       elapsed_ns_ / 1e9 AS elapsed_s, lost_ AS lost, incomplete_ AS incomplete,
       read_bytes_ AS read_bytes, read_requests_ AS read_requests, write_bytes_ AS write_bytes,
       write_requests_ AS write_requests, meta_requests_ AS meta_requests, errors_ AS errors,
       wait_ns_ / 1e9 AS wait_s
FROM (
    SELECT cluster, jobid, restart, het AS het_, step AS step_, node, tagged_at_ns,
           max(user) AS user_, any(step_name) AS name_, argMax(state, version) AS state_,
           argMax(elapsed_ns, version) AS elapsed_ns_, argMax(lost, version) AS lost_,
           argMax(incomplete, version) AS incomplete_,
           sum(read_bytes) AS read_bytes_, sum(read_requests) AS read_requests_,
           sum(write_bytes) AS write_bytes_, sum(write_requests) AS write_requests_,
           sum(meta_requests) AS meta_requests_, sum(errors) AS errors_, sum(wait_ns) AS wait_ns_
    FROM jobio.io FINAL
    GROUP BY cluster, jobid, restart, het, step, node, tagged_at_ns
);

-- Jobs.
CREATE VIEW IF NOT EXISTS jobio.v_job AS
SELECT cluster, jobid, restart, user_ AS user, uid_ AS uid, account_ AS account,
       partition_ AS partition, name_ AS name,
       if(ended_ = 1, 'ended', 'running') AS state,
       toDateTime(intDiv(start_ns_, 1000000000)) AS start,
       if(ended_ = 1, toDateTime(intDiv(end_ns_, 1000000000)), NULL) AS `end`,
       elapsed_ns_ / 1e9 AS elapsed_s, steps_ AS steps,
       (lost_ = 0) AND (causes_ = 0) AND (expected_ > 0) AND (nodes_ >= expected_) AS complete,
       read_bytes_ AS read_bytes, read_requests_ AS read_requests, write_bytes_ AS write_bytes,
       write_requests_ AS write_requests, meta_requests_ AS meta_requests, errors_ AS errors,
       wait_ns_ / 1e9 AS wait_s,
       if(elapsed_ns_ > 0, least(100.0, round(100.0 * longest_ns_ / elapsed_ns_, 1)), NULL)
           AS waiting_percent,
       slurm_state_ AS slurm_state, if(exit_known_ = 1, exit_code_, NULL) AS exit_code,
       if(exit_known_ = 1, exit_signal_, NULL) AS exit_signal
FROM (
    SELECT cluster, jobid, restart, holder, max(user_n) AS user_, max(uid_n) AS uid_,
           max(account_n) AS account_, max(partition_n) AS partition_, max(name_n) AS name_,
           min(ended_n) AS ended_, min(start_n) AS start_ns_, max(end_n) AS end_ns_,
           max(elapsed_n) AS elapsed_ns_, max(expected_n) AS expected_, count() AS nodes_,
           max(longest_n) AS longest_ns_, sum(lost_n) AS lost_, sum(causes_n) AS causes_,
           sum(steps_n) AS steps_, sum(read_bytes_n) AS read_bytes_,
           sum(read_requests_n) AS read_requests_, sum(write_bytes_n) AS write_bytes_,
           sum(write_requests_n) AS write_requests_, sum(meta_requests_n) AS meta_requests_,
           sum(errors_n) AS errors_, sum(wait_ns_n) AS wait_ns_,
           max(slurm_state_n) AS slurm_state_, max(exit_code_n) AS exit_code_,
           max(exit_signal_n) AS exit_signal_, max(exit_known_n) AS exit_known_
    FROM (
        SELECT cluster, jobid, restart, holder, node, max(user_s) AS user_n, max(uid_s) AS uid_n,
               max(account_s) AS account_n, max(partition_s) AS partition_n, max(name_s) AS name_n,
               max(ended_s) AS ended_n, min(start_s) AS start_n, max(end_s) AS end_n,
               argMax(elapsed_s_, version_s) AS elapsed_n, max(expected_s) AS expected_n,
               max(longest_s_) AS longest_n,
               sum(lost_s) + argMax(job_lost_s, version_s) AS lost_n,
               sum(causes_s) + argMax(job_causes_s, version_s) AS causes_n,
               sum(steps_s) AS steps_n, sum(read_bytes_s) AS read_bytes_n,
               sum(read_requests_s) AS read_requests_n, sum(write_bytes_s) AS write_bytes_n,
               sum(write_requests_s) AS write_requests_n, sum(meta_requests_s) AS meta_requests_n,
               sum(errors_s) AS errors_n, sum(wait_ns_s) AS wait_ns_n,
               max(slurm_state_s) AS slurm_state_n, max(exit_code_s) AS exit_code_n,
               max(exit_signal_s) AS exit_signal_n, max(exit_known_s) AS exit_known_n
        FROM (
            SELECT cluster, jobid, restart, holder, node, max(version) AS version_s,
                   max(user) AS user_s, max(uid) AS uid_s, max(account) AS account_s,
                   max(partition) AS partition_s,
                   max(name) AS name_s,
                       max(job_ended) AS ended_s, min(start_ns) AS start_s,
                   max(end_ns) AS end_s, argMax(job_elapsed_ns, version) AS elapsed_s_,
                   max(nodes_expected) AS expected_s, max(job_longest_wait_ns) AS longest_s_,
                   argMax(lost, version) AS lost_s, argMax(job_lost, version) AS job_lost_s,
                   argMax(incomplete != '', version) AS causes_s,
                   argMax(job_incomplete != '', version) AS job_causes_s,
                   argMax(greatest(folded, 1), version) AS steps_s,
                   sum(read_bytes) AS read_bytes_s, sum(read_requests) AS read_requests_s,
                   sum(write_bytes) AS write_bytes_s, sum(write_requests) AS write_requests_s,
                   sum(meta_requests) AS meta_requests_s, sum(errors) AS errors_s,
                   sum(wait_ns) AS wait_ns_s,
                   max(slurm_state) AS slurm_state_s, max(exit_code) AS exit_code_s,
                   max(exit_signal) AS exit_signal_s, max(exit_known) AS exit_known_s
            FROM jobio.v_row
            GROUP BY cluster, jobid, restart, holder, het, step, node, tagged_at_ns
        )
        GROUP BY cluster, jobid, restart, holder, node
    )
    GROUP BY cluster, jobid, restart, holder
);

-- What each step did on each mount, by operation.
CREATE VIEW IF NOT EXISTS jobio.v_step_io AS
SELECT cluster, jobid, restart, user, if(het_ = 4294967294, NULL, het_) AS het, step_ AS step, node,
       mount, fstype, source, op_ AS op, requests_ AS requests, bytes_ AS bytes, errors_ AS errors,
       time_ns_ / 1e9 AS wait_s, max_ns_ / 1e9 AS longest_s,
       peak_bytes_ AS peak_bytes_per_s, peak_requests_ AS peak_requests_per_s
FROM (
    SELECT cluster, jobid, restart, user, het AS het_, step_name AS step_, node, mount, fstype,
           source, op_, requests_, bytes_, errors_, time_ns_, max_ns_, peak_bytes_, peak_requests_
    FROM jobio.io FINAL
    ARRAY JOIN op AS op_, op_requests AS requests_, op_bytes AS bytes_, op_errors AS errors_,
               op_time_ns AS time_ns_, op_max_ns AS max_ns_, op_peak_bytes_per_s AS peak_bytes_,
               op_peak_requests_per_s AS peak_requests_
);

-- The same as sums over the job.
CREATE VIEW IF NOT EXISTS jobio.v_job_io AS
SELECT cluster, jobid, restart, user_ AS user, mount, fstype, source, op_ AS op,
       requests__ AS requests, bytes__ AS bytes, errors__ AS errors, time_ns__ / 1e9 AS wait_s,
       max_ns__ / 1e9 AS longest_s
FROM (
    SELECT cluster, jobid, restart, max(user) AS user_, mount, fstype, source, private, op_,
           sum(requests_) AS requests__, sum(bytes_) AS bytes__, sum(errors_) AS errors__,
           sum(time_ns_) AS time_ns__, max(max_ns_) AS max_ns__
    FROM jobio.v_row
    ARRAY JOIN op AS op_, op_requests AS requests_, op_bytes AS bytes_, op_errors AS errors_,
               op_time_ns AS time_ns_, op_max_ns AS max_ns_
    GROUP BY cluster, jobid, restart, holder, mount, fstype, source, private, op_
);

-- One row per job and mount.
CREATE VIEW IF NOT EXISTS jobio.v_job_mount AS
SELECT cluster, jobid, restart, user_ AS user, mount, fstype, source,
       read_bytes_ AS read_bytes, write_bytes_ AS write_bytes, requests_ AS requests,
       errors_ AS errors, time_ns_ / 1e9 AS wait_s
FROM (
    SELECT cluster, jobid, restart, max(user) AS user_, mount, fstype, source, private,
           sum(read_bytes) AS read_bytes_, sum(write_bytes) AS write_bytes_,
           sum(arraySum(op_requests)) AS requests_, sum(arraySum(op_errors)) AS errors_,
           sum(arraySum(op_time_ns)) AS time_ns_
    FROM jobio.v_row
    WHERE mount != ''
    GROUP BY cluster, jobid, restart, holder, mount, fstype, source, private
);

-- The calls of MPI-IO of each step. All rows of a step repeat them: the newest one counts.
CREATE VIEW IF NOT EXISTS jobio.v_step_mpi AS
SELECT cluster, jobid, restart, user, if(het_ = 4294967294, NULL, het_) AS het, step_ AS step, node,
       class_ AS class, calls_ AS calls, errors_ AS errors, bytes_ AS bytes,
       requested_bytes_ AS requested_bytes, unknown_calls_ AS unknown_calls,
       time_ns_ / 1e9 AS time_s, incomplete_ AS incomplete
FROM (
    SELECT cluster, jobid, restart, user, het AS het_, step_name AS step_, node,
           mpi_incomplete AS incomplete_, class_, calls_, errors_, bytes_, requested_bytes_,
           unknown_calls_, time_ns_
    FROM (
        SELECT *
        FROM jobio.io FINAL
        WHERE notEmpty(mpi)
        ORDER BY version DESC
        LIMIT 1 BY cluster, jobid, restart, het, step, node, tagged_at_ns
    )
    ARRAY JOIN mpi AS class_, mpi_calls AS calls_, mpi_errors AS errors_, mpi_bytes AS bytes_,
               mpi_requested_bytes AS requested_bytes_, mpi_unknown_calls AS unknown_calls_,
               mpi_time_ns AS time_ns_
);

-- The same as sums over the job.
CREATE VIEW IF NOT EXISTS jobio.v_job_mpi AS
SELECT cluster, jobid, restart, user_ AS user, class_ AS class, calls__ AS calls,
       errors__ AS errors, bytes__ AS bytes, requested_bytes__ AS requested_bytes,
       unknown_calls__ AS unknown_calls, time_ns__ / 1e9 AS time_s,
       (expected_ > 0) AND (nodes_ >= expected_) AND (missing_ = 0) AS complete
FROM (
    SELECT cluster, jobid, restart, holder, class_, sum(calls_) AS calls__,
           sum(errors_) AS errors__, sum(bytes_) AS bytes__,
           sum(requested_bytes_) AS requested_bytes__, sum(unknown_calls_) AS unknown_calls__,
           sum(time_ns_) AS time_ns__
    FROM (
        SELECT *
        FROM jobio.v_row
        WHERE notEmpty(mpi)
        ORDER BY version DESC
        LIMIT 1 BY cluster, jobid, restart, het, step, node, tagged_at_ns
    )
    ARRAY JOIN mpi AS class_, mpi_calls AS calls_, mpi_errors AS errors_, mpi_bytes AS bytes_,
               mpi_requested_bytes AS requested_bytes_, mpi_unknown_calls AS unknown_calls_,
               mpi_time_ns AS time_ns_
    GROUP BY cluster, jobid, restart, holder, class_
) ANY LEFT JOIN (
    SELECT cluster, jobid, restart, holder, max(user) AS user_, max(nodes_expected) AS expected_,
           uniqExact(node) AS nodes_, countIf(mpi_incomplete NOT IN ('', '[]')) AS missing_
    FROM jobio.v_row
    GROUP BY cluster, jobid, restart, holder
) USING (cluster, jobid, restart, holder);

-- The requests to disks of each step, by device and class. All rows of a step repeat them.
CREATE VIEW IF NOT EXISTS jobio.v_step_block AS
SELECT cluster, jobid, restart, user, if(het_ = 4294967294, NULL, het_) AS het, step_ AS step, node,
       device_ AS device, shared_ AS shared, class_ AS class, requests_ AS requests,
       errors_ AS errors, bytes_ AS bytes, queued_ns_ / 1e9 AS queued_s,
       device_ns_ / 1e9 AS device_s, incomplete_ AS incomplete
FROM (
    SELECT cluster, jobid, restart, user, het AS het_, step_name AS step_, node,
           block_incomplete AS incomplete_, shared_, device_, class_, requests_, errors_, bytes_,
           queued_ns_, device_ns_
    FROM (
        SELECT *,
               arrayConcat(block_device, block_shared_device) AS devices_,
               arrayConcat(block, block_shared) AS classes_,
               arrayMap((c, n) -> n > length(block), arrayConcat(block, block_shared),
                        arrayEnumerate(arrayConcat(block, block_shared))) AS shareds_,
               arrayConcat(block_requests, block_shared_requests) AS requests__,
               arrayConcat(block_errors, block_shared_errors) AS errors__,
               arrayConcat(block_bytes, block_shared_bytes) AS bytes__,
               arrayConcat(block_queued_ns, block_shared_queued_ns) AS queued_ns__,
               arrayConcat(block_device_ns, block_shared_device_ns) AS device_ns__
        FROM (
            SELECT *
            FROM jobio.io FINAL
            WHERE block_counted
            ORDER BY version DESC
            LIMIT 1 BY cluster, jobid, restart, het, step, node, tagged_at_ns
        )
    )
    ARRAY JOIN devices_ AS device_, classes_ AS class_, shareds_ AS shared_,
               requests__ AS requests_, errors__ AS errors_, bytes__ AS bytes_,
               queued_ns__ AS queued_ns_, device_ns__ AS device_ns_
);
