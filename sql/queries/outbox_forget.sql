-- 1 sink
DELETE FROM outbox WHERE sink = ?1;
