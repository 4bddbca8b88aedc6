-- Deleted jobs do not wait any more.
DELETE FROM state WHERE key >= 'normal/' AND key < 'normal0'
    AND NOT EXISTS (SELECT 1 FROM job WHERE id = CAST(substr(key, 8) AS INTEGER));
