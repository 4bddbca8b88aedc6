-- Sinks with queued rows: one index lookup per sink, not one per row.
WITH RECURSIVE sinks (sink) AS (
    SELECT min(sink) FROM outbox WHERE refused IS NULL
    UNION ALL
    SELECT (SELECT min(o.sink) FROM outbox AS o WHERE o.refused IS NULL AND o.sink > sinks.sink)
    FROM sinks WHERE sinks.sink IS NOT NULL
)
SELECT sink FROM sinks WHERE sink IS NOT NULL;
