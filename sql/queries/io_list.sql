-- 1 step, 2 mount
SELECT op,
    requests, async_requests, bytes, errors, time_ns, max_ns, peak_bytes_per_s,
    peak_requests_per_s, size_log2, latency_log2, errno, sequential_requests,
    random_requests
FROM io WHERE step_id = ?1 AND mount_id = ?2;
