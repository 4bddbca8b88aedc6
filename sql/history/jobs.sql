-- SPDX-License-Identifier: GPL-2.0-or-later
-- The jobs of a period, ended and running. collector/store/history_sql.c replaces the words between %:
-- INDEX, INDEXED BY the index for the conditions; COLUMNS (columns.sql), and in them SUMS, which come from the job
-- (job_sums.sql) or from mounts that it used (mount_sums.sql), and these MOUNTS; CONDITIONS; ORDER.
-- :since and :until are the period, :first is earlier than the start of any job that ended in it.
-- :state 0 all, 1 only running jobs, 2 only ended jobs.
SELECT %COLUMNS%
FROM job %INDEX% %MOUNTS%
WHERE ended = 1 AND :state != 1 AND start_ns >= :first AND start_ns < :until
    AND end_ns >= :since AND expired = 0 %CONDITIONS%
UNION ALL
SELECT %COLUMNS%
FROM job INDEXED BY job_running %MOUNTS%
WHERE ended = 0 AND :state != 2 AND start_ns < :until AND expired = 0 %CONDITIONS%
%ORDER%
