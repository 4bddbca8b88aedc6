-- SPDX-License-Identifier: GPL-2.0-or-later
-- What `jobio job` asks a ClickHouse: all rows of a job number.
SELECT *
FROM :table FINAL
WHERE jobid = :jobid :cluster
ORDER BY cluster, restart, start_ns, version
FORMAT JSONEachRow
