-- Count the rows of a job that no sink will receive, refused or not. ?1 job
INSERT INTO state (key, value)
SELECT 'outbox/given-up/' || o.sink, count(*)
FROM outbox AS o JOIN step AS s ON s.id = o.step_id
WHERE s.job_id = ?1
GROUP BY o.sink
ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + CAST(excluded.value AS INTEGER);
