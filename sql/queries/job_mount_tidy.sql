-- Delete the mounts of a job that none of its steps uses any more. Their sums are 0: only these are looked
-- up in the steps of the job. ?1 job
DELETE FROM job_mount
WHERE job_id = ?1 AND read_requests = 0 AND write_requests = 0 AND meta_requests = 0 AND NOT EXISTS (
    SELECT 1 FROM step AS s CROSS JOIN step_mount AS m ON m.step_id = s.id
    WHERE s.job_id = job_mount.job_id AND m.mount_id = job_mount.mount_id);
