-- Delete the peaks of a job. ?1 job
DELETE FROM peak WHERE job_id = ?1;
