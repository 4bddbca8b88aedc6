-- A job that has ended, newest holder. 1 cluster, 2 jobid, 3 restart
SELECT id, end_ns, latency_counted FROM job
WHERE cluster = ?1 AND jobid = ?2 AND restart = ?3 AND expired = 0 AND ended = 1
ORDER BY holder DESC LIMIT 1;
