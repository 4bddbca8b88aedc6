-- 1 job: its latencies are in latency_day
UPDATE job SET latency_counted = 1 WHERE id = ?1;
