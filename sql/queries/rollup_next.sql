-- The first end of a job at or after a time. ?1 time
SELECT end_ns FROM job INDEXED BY job_end WHERE end_ns >= ?1 AND ended = 1 AND expired = 0
ORDER BY end_ns LIMIT 1;
