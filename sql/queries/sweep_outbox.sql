-- Delete the queued rows of a job. ?1 job
DELETE FROM outbox WHERE step_id IN (SELECT id FROM step WHERE job_id = ?1);
