-- 1 step, 2 mount, 3 op, 4.. the columns in the order of the field table (common/io_fields.h)
INSERT INTO io (step_id, mount_id, op,
    requests, async_requests, sequential_requests, random_requests, bytes, errors, errno, time_ns,
    max_ns, throttled_ns, size_log2, latency_log2,
    peak_bytes_per_s, peak_requests_per_s)
VALUES (?1, ?2, ?3,
    ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17);
