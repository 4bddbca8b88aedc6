-- 1 id, 2 why
UPDATE outbox SET refused = ?2 WHERE id = ?1;
