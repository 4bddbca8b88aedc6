-- When the first jobs that ended between ?1 and ?2 ended. ?3 limit
SELECT end_ns FROM job INDEXED BY job_end
WHERE end_ns >= ?1 AND end_ns < ?2 AND ended = 1 AND expired = 0
ORDER BY end_ns LIMIT ?3;
