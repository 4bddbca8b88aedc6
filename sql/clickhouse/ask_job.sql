-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `jobio job` asks a ClickHouse: all rows of a job number. :own is a condition on
-- the user who asks, or nothing.
SELECT *
FROM :table FINAL
WHERE jobid = :jobid :cluster :own
ORDER BY cluster, restart, start_ns, version
FORMAT JSONEachRow
