-- 1, 2 a span of ends, 3 how many at most: when the first jobs in it ended
SELECT end_ns FROM job INDEXED BY job_end
WHERE end_ns >= ?1 AND end_ns < ?2 AND ended = 1 AND expired = 0
ORDER BY end_ns LIMIT ?3;
