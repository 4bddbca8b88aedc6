-- Change the bytes of the owner of a job. ?1 job, ?2 bytes more, ?3 bytes less
INSERT INTO state (key, value)
SELECT 'share/' || uid, max(0, ?2 - ?3) FROM job WHERE id = ?1
ON CONFLICT (key) DO UPDATE SET value = max(0, CAST(value AS INTEGER) + ?2 - ?3);
