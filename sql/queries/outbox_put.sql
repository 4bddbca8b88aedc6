-- 1 sink, 2 step, 3 time: what waits already goes behind the others
INSERT OR REPLACE INTO outbox (sink, step_id, queued_ns) VALUES (?1, ?2, ?3);
