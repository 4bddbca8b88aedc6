-- Queued rows, all rows, time of the first queued row, rows given up by retention. ?1 sink
SELECT (SELECT count(*) FROM outbox WHERE sink = ?1 AND refused IS NULL),
    (SELECT count(*) FROM outbox WHERE sink = ?1),
    (SELECT queued_ns FROM outbox WHERE sink = ?1 AND refused IS NULL ORDER BY id LIMIT 1),
    (SELECT CAST(value AS INTEGER) FROM state WHERE key = 'outbox/given-up/' || ?1);
