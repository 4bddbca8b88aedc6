-- Delete a value. ?1 key
DELETE FROM state WHERE key = ?1;
