-- Whether the sink of a row waits for, or has refused, another step of the same job behind it. ?1 row
SELECT EXISTS (
    SELECT 1 FROM outbox AS mine
    JOIN step AS s ON s.id = mine.step_id
    JOIN step AS other ON other.job_id = s.job_id
    JOIN outbox AS o ON o.step_id = other.id AND o.sink = mine.sink
    WHERE mine.id = ?1 AND o.id <> mine.id AND (o.id > mine.id OR o.refused IS NOT NULL));
