-- 1 prefix of keys
DELETE FROM state WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1;
