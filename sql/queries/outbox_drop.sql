-- Delete an acknowledged row. ?1 id
DELETE FROM outbox WHERE id = ?1;
