-- The rows of a sink after an id. ?1 sink, ?2 id, ?3 limit
SELECT o.id, o.step_id, s.job_id FROM outbox AS o JOIN step AS s ON s.id = o.step_id
WHERE o.sink = ?1 AND o.refused IS NULL AND o.id > ?2
ORDER BY o.id LIMIT ?3;
