-- Queue a step. A step that is queued already moves to the end. ?1 sink, ?2 step, ?3 time
INSERT OR REPLACE INTO outbox (sink, step_id, queued_ns) VALUES (?1, ?2, ?3);
