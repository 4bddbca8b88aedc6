-- The next step and its job. ?1 the step before
SELECT id, job_id FROM step WHERE id > ?1 ORDER BY id LIMIT 1;
