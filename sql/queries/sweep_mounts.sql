-- Delete the unused mounts with ids from ?1 to ?2.
DELETE FROM mount WHERE id IN (
    SELECT m.id FROM mount AS m
    WHERE m.id > ?1 AND m.id <= ?2
        AND NOT EXISTS (SELECT 1 FROM step_mount WHERE mount_id = m.id)
        AND NOT EXISTS (SELECT 1 FROM peak WHERE mount_id = m.id)
        AND NOT EXISTS (SELECT 1 FROM latency_day WHERE mount_id = m.id));
