-- The newest holder of a job number. ?1 cluster, ?2 jobid, ?3 restart
SELECT id, ended, end_ns FROM job
WHERE cluster = ?1 AND jobid = ?2 AND restart = ?3 AND expired = 0
ORDER BY holder DESC LIMIT 1;
