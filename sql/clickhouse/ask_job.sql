-- SPDX-License-Identifier: GPL-2.0-or-later
-- The ClickHouse query of `jobio job` and `jobio array`: all rows of the jobs of which_job.sql or
-- which_task.sql. :own is a condition on the user who runs the command, or empty.
SELECT *
FROM :table FINAL
WHERE :which :cluster :own
ORDER BY cluster, jobid, restart, start_ns, version
FORMAT JSONEachRow
