-- 1 if the owner of a job has at least half as many bytes as the owner with the most. ?1 job
SELECT 1 FROM job CROSS JOIN state AS s ON s.key = 'share/' || job.uid
WHERE job.id = ?1 AND 2 * CAST(s.value AS INTEGER) >= (
    SELECT max(CAST(value AS INTEGER)) FROM state WHERE key > 'share/' AND key < 'share0');
