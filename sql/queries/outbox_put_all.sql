-- Queue all final steps of a job. ?1 sink, ?2 job, ?3 time, ?4 only those of this node, or NULL
INSERT OR REPLACE INTO outbox (sink, step_id, queued_ns)
SELECT ?1, s.id, ?3 FROM step AS s
WHERE s.job_id = ?2 AND s.final = 1 AND (?4 IS NULL OR s.node = ?4)
ORDER BY s.id;
