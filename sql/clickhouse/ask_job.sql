-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `jobio job` and `jobio array` ask a ClickHouse: all rows of the jobs of which_job.sql,
-- which_task.sql or which_array.sql. :own is a condition on the user who asks, or nothing.
SELECT *
FROM :table FINAL
WHERE :which :cluster :own
ORDER BY cluster, jobid, restart, start_ns, version
FORMAT JSONEachRow
