-- 1 job
DELETE FROM peak WHERE job_id = ?1;
