-- 1 sink: waiting, all, time of the first that waits, given up by retention
SELECT (SELECT count(*) FROM outbox WHERE sink = ?1 AND refused IS NULL),
    (SELECT count(*) FROM outbox WHERE sink = ?1),
    (SELECT queued_ns FROM outbox WHERE sink = ?1 AND refused IS NULL ORDER BY id LIMIT 1),
    (SELECT CAST(value AS INTEGER) FROM state WHERE key = 'outbox/given-up/' || ?1);
