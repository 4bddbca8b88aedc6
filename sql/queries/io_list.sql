-- 1 step, 2 mount: the columns in the order of the field table (common/io_fields.h)
SELECT op,
    requests, async_requests, sequential_requests, random_requests, bytes, errors, errno, time_ns,
    max_ns, throttled_ns, size_log2, latency_log2,
    peak_bytes_per_s, peak_requests_per_s
FROM io WHERE step_id = ?1 AND mount_id = ?2;
