-- Delete one step of a job and its counters. ?1 job
DELETE FROM step WHERE id IN (SELECT id FROM step WHERE job_id = ?1 LIMIT 1);
