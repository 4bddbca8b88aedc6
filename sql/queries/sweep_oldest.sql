-- The job that ended first, if it ended before a time. ?1 time
SELECT id, end_ns FROM job WHERE end_ns < ?1 AND ended = 1 AND expired = 0
ORDER BY end_ns LIMIT 1;
