-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of ask_job.sql: the newest run of each task of an array from :first on, of who ran it last.
(cluster, jobid, restart) IN (
    SELECT cluster, jobid_, restart_ FROM (
        SELECT cluster, array_task, argMax(jobid, start_ns) AS jobid_,
               argMax(restart, start_ns) AS restart_
        FROM :table
        WHERE array_job = :job AND array_task >= :first :cluster :own AND (cluster, uid) IN (
            SELECT cluster, uid FROM :table WHERE array_job = :job :cluster :own
            ORDER BY start_ns DESC LIMIT 1)
        GROUP BY cluster, array_task
        ORDER BY array_task LIMIT :limit))
