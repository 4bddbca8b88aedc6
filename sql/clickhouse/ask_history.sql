-- SPDX-License-Identifier: GPL-2.0-or-later
-- The ClickHouse query of `jobio history`: v_job with more columns, for the jobs of a period, :jobs.
-- Holders as in v_row: :own and :whose select one of the holders of the numbers in :jobs.
SELECT cluster, jobid, restart, user_ AS user, uid_ AS uid, account_ AS account,
       partition_ AS `partition`, name_ AS name, array_ AS array_job, task_ AS array_task,
       ended_ AS ended,
       (lost_ = 0) AND (causes_ = 0) AND (expected_ > 0) AND (nodes_ >= expected_) AS complete,
       start_ns_ AS start_ns, end_ns_ AS end_ns, elapsed_ns_ AS elapsed_ns, steps_ AS steps,
       longest_ns_ AS longest_wait_ns,
       read_requests_ AS read_requests, read_bytes_ AS read_bytes, read_errors_ AS read_errors,
       read_time_ns_ AS read_time_ns, write_requests_ AS write_requests,
       write_bytes_ AS write_bytes, write_errors_ AS write_errors,
       write_time_ns_ AS write_time_ns, meta_requests_ AS meta_requests,
       meta_errors_ AS meta_errors, meta_time_ns_ AS meta_time_ns, errors_ AS errors,
       wait_ns_ AS wait_ns, read_max_ns_ AS read_max_ns, write_max_ns_ AS write_max_ns,
       meta_max_ns_ AS meta_max_ns, slurm_state_ AS slurm_state, exit_code_ AS exit_code,
       exit_signal_ AS exit_signal, exit_known_ AS exit_known
FROM (
    SELECT cluster, jobid, restart, holder, max(user_n) AS user_, max(uid_n) AS uid_,
           max(account_n) AS account_, max(partition_n) AS partition_, max(name_n) AS name_,
           max(array_n) AS array_, max(task_n) AS task_,
           groupUniqArray(node) AS node_, min(ended_n) AS ended_, min(start_n) AS start_ns_, max(end_n) AS end_ns_,
           max(elapsed_n) AS elapsed_ns_, max(expected_n) AS expected_, count() AS nodes_,
           max(longest_n) AS longest_ns_, sum(lost_n) AS lost_, sum(causes_n) AS causes_,
           sum(steps_n) AS steps_,
           sum(read_requests_n) AS read_requests_, sum(read_bytes_n) AS read_bytes_,
           sum(read_errors_n) AS read_errors_, sum(read_time_ns_n) AS read_time_ns_,
           sum(write_requests_n) AS write_requests_, sum(write_bytes_n) AS write_bytes_,
           sum(write_errors_n) AS write_errors_, sum(write_time_ns_n) AS write_time_ns_,
           sum(meta_requests_n) AS meta_requests_, sum(meta_errors_n) AS meta_errors_,
           sum(meta_time_ns_n) AS meta_time_ns_, sum(errors_n) AS errors_,
           sum(wait_ns_n) AS wait_ns_,
           max(read_max_ns_n) AS read_max_ns_, max(write_max_ns_n) AS write_max_ns_,
           max(meta_max_ns_n) AS meta_max_ns_,
           max(slurm_state_n) AS slurm_state_, max(exit_code_n) AS exit_code_,
           max(exit_signal_n) AS exit_signal_, max(exit_known_n) AS exit_known_
    FROM (
        SELECT cluster, jobid, restart, holder, node, max(user_s) AS user_n, max(uid_s) AS uid_n,
               max(account_s) AS account_n, max(partition_s) AS partition_n, max(name_s) AS name_n,
               max(array_s) AS array_n, max(task_s) AS task_n,
               max(ended_s) AS ended_n, min(start_s) AS start_n, max(end_s) AS end_n,
               argMax(elapsed_s, version_s) AS elapsed_n, max(expected_s) AS expected_n,
               max(longest_s) AS longest_n,
               sum(lost_s) + argMax(job_lost_s, version_s) AS lost_n,
               sum(causes_s) + argMax(job_causes_s, version_s) AS causes_n,
               sum(steps_s) AS steps_n,
               sum(read_requests_s) AS read_requests_n, sum(read_bytes_s) AS read_bytes_n,
               sum(read_errors_s) AS read_errors_n, sum(read_time_ns_s) AS read_time_ns_n,
               sum(write_requests_s) AS write_requests_n, sum(write_bytes_s) AS write_bytes_n,
               sum(write_errors_s) AS write_errors_n, sum(write_time_ns_s) AS write_time_ns_n,
               sum(meta_requests_s) AS meta_requests_n, sum(meta_errors_s) AS meta_errors_n,
               sum(meta_time_ns_s) AS meta_time_ns_n, sum(errors_s) AS errors_n,
               sum(wait_ns_s) AS wait_ns_n,
               max(read_max_ns_s) AS read_max_ns_n, max(write_max_ns_s) AS write_max_ns_n,
               max(meta_max_ns_s) AS meta_max_ns_n,
               max(slurm_state_s) AS slurm_state_n, max(exit_code_s) AS exit_code_n,
               max(exit_signal_s) AS exit_signal_n, max(exit_known_s) AS exit_known_n
        FROM (
            SELECT cluster, jobid, restart, node, version_s, user_s, uid_s, account_s,
                   partition_s, name_s, array_s, task_s,
                   ended_s, start_s, end_s, elapsed_s, expected_s, longest_s,
                   lost_s, job_lost_s, causes_s, job_causes_s, steps_s, read_requests_s,
                   read_bytes_s, read_errors_s, read_time_ns_s, write_requests_s, write_bytes_s,
                   write_errors_s, write_time_ns_s, meta_requests_s, meta_errors_s,
                   meta_time_ns_s, errors_s, wait_ns_s, read_max_ns_s, write_max_ns_s,
                   meta_max_ns_s, slurm_state_s, exit_code_s, exit_signal_s, exit_known_s,
                   arrayCount(e -> e <= 2 * start_s, later) AS holder
            FROM (
                SELECT cluster, jobid, restart, node, max(version) AS version_s,
                       max(user) AS user_s, max(uid) AS uid_s, max(account) AS account_s,
                       max(`partition`) AS partition_s, max(name) AS name_s,
                       max(array_job) AS array_s, max(array_task) AS task_s,
                       max(job_ended) AS ended_s, min(start_ns) AS start_s,
                       max(end_ns) AS end_s, argMax(job_elapsed_ns, version) AS elapsed_s,
                       max(nodes_expected) AS expected_s, max(job_longest_wait_ns) AS longest_s,
                       argMax(lost, version) AS lost_s, argMax(job_lost, version) AS job_lost_s,
                       argMax(incomplete != '', version) AS causes_s,
                       argMax(job_incomplete != '', version) AS job_causes_s,
                       argMax(greatest(folded, 1), version) AS steps_s,
                       sum(read_requests) AS read_requests_s, sum(read_bytes) AS read_bytes_s,
                       sum(read_errors) AS read_errors_s, sum(read_time_ns) AS read_time_ns_s,
                       sum(write_requests) AS write_requests_s, sum(write_bytes) AS write_bytes_s,
                       sum(write_errors) AS write_errors_s, sum(write_time_ns) AS write_time_ns_s,
                       sum(meta_requests) AS meta_requests_s, sum(meta_errors) AS meta_errors_s,
                       sum(meta_time_ns) AS meta_time_ns_s, sum(errors) AS errors_s,
                       sum(wait_ns) AS wait_ns_s,
                       max(read_max_ns) AS read_max_ns_s, max(write_max_ns) AS write_max_ns_s,
                       max(meta_max_ns) AS meta_max_ns_s,
                       max(slurm_state) AS slurm_state_s, max(exit_code) AS exit_code_s,
                       max(exit_signal) AS exit_signal_s, max(exit_known) AS exit_known_s
                FROM :table FINAL
                WHERE (cluster, jobid, restart) IN (:jobs) :own
                GROUP BY cluster, jobid, restart, het, step, node, tagged_at_ns
            ) ANY LEFT JOIN (
                SELECT cluster, jobid, restart, later FROM (
                    SELECT cluster, jobid, restart,
                           arrayFilter((e, before) -> e % 2 = 0 AND before % 2 = 1, events,
                                       arrayPushFront(arrayPopBack(events), 0)) AS later
                    FROM (
                        SELECT cluster, jobid, restart,
                               arraySort(arrayConcat(
                                   groupUniqArray(2 * start_ns),
                                   groupUniqArrayIf(2 * end_ns + 1, job_ended = 1))) AS events
                        FROM :table FINAL
                        WHERE (cluster, jobid, restart) IN (:jobs) :own
                        GROUP BY cluster, jobid, restart
                    )
                )
                WHERE notEmpty(later)
            ) USING (cluster, jobid, restart)
        )
        GROUP BY cluster, jobid, restart, holder, node
    )
    GROUP BY cluster, jobid, restart, holder
)
WHERE (ended_ = 0 OR end_ns_ >= :since) AND start_ns_ < :until :state :whose
ORDER BY :order_ :way, start_ns_ :way, cluster, jobid DESC, restart DESC
LIMIT :limit
FORMAT JSONEachRow
