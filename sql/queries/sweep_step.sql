-- 1 job: delete one step of it, and with it its numbers
DELETE FROM step WHERE id IN (SELECT id FROM step WHERE job_id = ?1 LIMIT 1);
