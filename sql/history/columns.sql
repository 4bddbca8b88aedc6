-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of jobs.sql and piece.sql: the columns of a job.
job.id AS id, cluster, user, account, partition, name, jobid, restart, uid, ended,
    lost = 0 AND incomplete IS NULL AND steps_incomplete = 0
        AND nodes_expected > 0 AND nodes_reported >= nodes_expected,
    start_ns, end_ns, elapsed_ns, steps, longest_wait_ns, job.wait_ns,
    %SUMS%, array_job, array_task, slurm_state, exit_code, exit_signal
