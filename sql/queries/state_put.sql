-- Set a value. ?1 key, ?2 value
INSERT INTO state (key, value) VALUES (?1, ?2)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;
