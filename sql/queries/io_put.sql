-- 1 step, 2 mount, 3 op, 4.. its numbers
INSERT INTO io (step_id, mount_id, op,
    requests, async_requests, bytes, errors, time_ns, max_ns, peak_bytes_per_s,
    peak_requests_per_s, size_log2, latency_log2, errno, sequential_requests,
    random_requests)
VALUES (?1, ?2, ?3,
    ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16);
