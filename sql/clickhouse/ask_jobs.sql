-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of ask_history.sql, twice: the jobs of a period. :from is a year before :since: a job is found by
-- its steps that started after :from, so that old partitions are not read.
SELECT cluster, jobid, restart FROM :table
WHERE tagged_at_ns >= :from AND tagged_at_ns < :until :cluster :own
GROUP BY cluster, jobid, restart
HAVING (uniqExactIf(node, job_ended = 1) < uniqExact(node)
        OR max(end_ns) >= :since OR max(tagged_at_ns + elapsed_ns) >= :since)
    AND min(start_ns) < :until :anyone
