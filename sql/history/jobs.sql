-- SPDX-License-Identifier: GPL-2.0-or-later
-- The jobs of a span of time, those that have ended and those that run. Words between % are filled
-- in by collector/store_history.c: INDEX, the one that serves the conditions; SUMS and MOUNTS, what
-- the sums come from, the job (job_sums.sql) or mounts that it touched (mount_sums.sql);
-- CONDITIONS; ORDER.
-- :since and :until are the span, :first is earlier than the start of any job that ended in it.
-- :state 0 all, 1 only what runs, 2 only what has ended.
SELECT job.id AS id, cluster, user, account, partition, name, jobid, restart, uid, ended,
    lost = 0 AND incomplete IS NULL AND steps_incomplete = 0
        AND nodes_expected > 0 AND nodes_reported >= nodes_expected,
    start_ns, end_ns, elapsed_ns, steps, longest_wait_ns, job.wait_ns,
    %SUMS%, array_job, array_task
FROM job INDEXED BY %INDEX% %MOUNTS%
WHERE ended = 1 AND :state != 1 AND start_ns >= :first AND start_ns < :until
    AND end_ns >= :since AND expired = 0 %CONDITIONS%
UNION ALL
SELECT job.id AS id, cluster, user, account, partition, name, jobid, restart, uid, ended,
    lost = 0 AND incomplete IS NULL AND steps_incomplete = 0
        AND nodes_expected > 0 AND nodes_reported >= nodes_expected,
    start_ns, end_ns, elapsed_ns, steps, longest_wait_ns, job.wait_ns,
    %SUMS%, array_job, array_task
FROM job INDEXED BY job_running %MOUNTS%
WHERE ended = 0 AND :state != 2 AND start_ns < :until AND expired = 0 %CONDITIONS%
%ORDER%
