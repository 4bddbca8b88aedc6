-- The latencies of a job's reads, writes and opens, by mount. ?1 job
SELECT i.mount_id, i.op, i.latency_log2
FROM step AS s
    JOIN io AS i ON i.step_id = s.id
    JOIN mount AS m ON m.id = i.mount_id
WHERE s.job_id = ?1 AND m.private = 0 AND i.op IN ('read', 'write', 'open')
    AND i.latency_log2 IS NOT NULL
ORDER BY i.mount_id;
