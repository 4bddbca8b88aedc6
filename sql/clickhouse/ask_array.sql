-- SPDX-License-Identifier: GPL-2.0-or-later
-- The first ClickHouse query of `jobio array`: the newest run of each task, for the user who ran the
-- array last.
SELECT cluster, array_task, argMax(jobid, start_ns) AS jobid_, argMax(restart, start_ns) AS restart_
FROM :table
WHERE array_job = :job :cluster :own AND (cluster, uid) IN (
    SELECT cluster, uid FROM :table WHERE array_job = :job :cluster :own
    ORDER BY start_ns DESC LIMIT 1)
GROUP BY cluster, array_task
ORDER BY array_task
FORMAT JSONEachRow
