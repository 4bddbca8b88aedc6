-- 1 prefix: the reader stops at the first key without it
SELECT key, value FROM state WHERE key >= ?1 ORDER BY key;
