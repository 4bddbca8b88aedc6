-- 1 job: its latencies are in latency_day under 2 the day; 0: in none
UPDATE job SET latency_counted = ?2 WHERE id = ?1;
