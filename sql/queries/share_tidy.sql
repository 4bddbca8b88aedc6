-- Forget the bytes of an owner whose last job this is. ?1 job
DELETE FROM state WHERE key = 'share/' || (SELECT uid FROM job WHERE id = ?1)
    AND NOT EXISTS (SELECT 1 FROM job WHERE uid = (SELECT uid FROM job WHERE id = ?1) AND id <> ?1);
