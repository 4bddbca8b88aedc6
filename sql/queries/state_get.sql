-- A value. ?1 key
SELECT value FROM state WHERE key = ?1;
