-- Note the day under which a job is in latency_day. ?1 job, ?2 day, or 0 for none
UPDATE job SET latency_counted = ?2 WHERE id = ?1;
