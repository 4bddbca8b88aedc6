-- 1 step: what it did on each mount, by operation, without the histograms
SELECT mount_id, op, requests, bytes, errors, time_ns, max_ns
FROM io WHERE step_id = ?1 ORDER BY mount_id;
