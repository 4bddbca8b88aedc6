-- A step of a job. ?1 job
SELECT id FROM step WHERE job_id = ?1 LIMIT 1;
