-- 1 job: forget the mounts that none of its steps has any more
DELETE FROM job_mount
WHERE job_id = ?1 AND NOT EXISTS (
    SELECT 1 FROM step AS s CROSS JOIN step_mount AS m ON m.step_id = s.id
    WHERE s.job_id = job_mount.job_id AND m.mount_id = job_mount.mount_id);
