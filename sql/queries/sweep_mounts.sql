-- 1, 2 a window of ids: delete the mounts in it that no row names
DELETE FROM mount WHERE id IN (
    SELECT m.id FROM mount AS m
    WHERE m.id > ?1 AND m.id <= ?2
        AND NOT EXISTS (SELECT 1 FROM step_mount WHERE mount_id = m.id)
        AND NOT EXISTS (SELECT 1 FROM peak WHERE mount_id = m.id)
        AND NOT EXISTS (SELECT 1 FROM latency_day WHERE mount_id = m.id));
