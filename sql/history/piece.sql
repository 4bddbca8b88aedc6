-- SPDX-License-Identifier: GPL-2.0-or-later
-- The jobs of jobs.sql that ended from :from to :to.
SELECT %COLUMNS%
FROM job INDEXED BY job_end %MOUNTS%
WHERE ended = 1 AND end_ns >= :from AND end_ns <= :to AND start_ns < :until
    AND expired = 0 %CONDITIONS%
