-- The newest holder of an ended job: the day under which it is in latency_day, and whether all accounts
-- that this node expects have arrived. ?1 cluster, ?2 jobid, ?3 restart
SELECT id, end_ns, latency_counted, nodes_reported >= nodes_expected OR first_node IS NOT NULL
FROM job
WHERE cluster = ?1 AND jobid = ?2 AND restart = ?3 AND expired = 0 AND ended = 1
ORDER BY holder DESC LIMIT 1;
