-- The mounts that have a baseline.
SELECT DISTINCT mount, fstype, source FROM mount
WHERE private = 0 AND id IN (SELECT mount_id FROM latency_day);
