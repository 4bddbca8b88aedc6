-- As history_all, of 5 a uid, and only under 6 a user name
SELECT cluster, user, account, partition, name, jobid, restart, uid, ended,
    lost = 0 AND incomplete IS NULL AND steps_incomplete = 0
        AND nodes_expected > 0 AND nodes_reported >= nodes_expected,
    start_ns, end_ns, elapsed_ns, steps,
    read_requests, read_bytes, read_errors, read_time_ns, read_max_ns, write_requests,
    write_bytes, write_errors, write_time_ns, write_max_ns, meta_requests, meta_errors,
    meta_time_ns, meta_max_ns, errors, wait_ns,
    longest_wait_ns
FROM job
WHERE uid = ?5 AND user = ?6 AND end_ns >= ?1
    AND start_ns < ?2 AND expired = 0
ORDER BY CASE ?3 WHEN 'read' THEN read_bytes WHEN 'write' THEN write_bytes
    WHEN 'meta' THEN meta_requests WHEN 'wait' THEN wait_ns ELSE start_ns END DESC,
    start_ns DESC, id DESC
LIMIT ?4;
