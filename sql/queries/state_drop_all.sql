-- Delete all values with a prefix. ?1 prefix
DELETE FROM state WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1;
