-- Hide a job before it is deleted, so that it is never visible in part. ?1 job
UPDATE job SET expired = 1 WHERE id = ?1;
