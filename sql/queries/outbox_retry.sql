-- 1 sink: what it refused is to be sent again
UPDATE outbox SET refused = NULL WHERE sink = ?1 AND refused IS NOT NULL;
