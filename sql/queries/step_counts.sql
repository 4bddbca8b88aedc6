-- What a step did on each mount, by operation, without histograms. ?1 step
SELECT mount_id, op, requests, bytes, errors, time_ns, max_ns
FROM io WHERE step_id = ?1 ORDER BY mount_id;
