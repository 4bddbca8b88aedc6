-- Set a row aside as refused. ?1 id, ?2 reason
UPDATE outbox SET refused = ?2 WHERE id = ?1;
