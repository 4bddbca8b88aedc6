-- Subtract the sums of a step on a mount from those of its job. The longest calls remain. ?1 job,
-- ?2 mount, ?3.. sums
UPDATE job_mount SET
    read_requests = max(0, read_requests - ?3), read_bytes = max(0, read_bytes - ?4),
    read_errors = max(0, read_errors - ?5), read_time_ns = max(0, read_time_ns - ?6),
    read_max_ns = max(read_max_ns, ?7),
    write_requests = max(0, write_requests - ?8), write_bytes = max(0, write_bytes - ?9),
    write_errors = max(0, write_errors - ?10), write_time_ns = max(0, write_time_ns - ?11),
    write_max_ns = max(write_max_ns, ?12),
    meta_requests = max(0, meta_requests - ?13), meta_errors = max(0, meta_errors - ?14),
    meta_time_ns = max(0, meta_time_ns - ?15), meta_max_ns = max(meta_max_ns, ?16),
    errors = max(0, errors - ?17), wait_ns = max(0, wait_ns - ?18)
WHERE job_id = ?1 AND mount_id = ?2;
