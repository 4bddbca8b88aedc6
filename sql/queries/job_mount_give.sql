-- Add the sums of a step on a mount to those of its job. ?1 job, ?2 mount, ?3.. sums. A sum beyond 2^63
-- becomes a REAL, which CAST converts to the largest integer.
INSERT INTO job_mount (job_id, mount_id, read_requests, read_bytes, read_errors, read_time_ns,
    read_max_ns, write_requests, write_bytes, write_errors, write_time_ns, write_max_ns,
    meta_requests, meta_errors, meta_time_ns, meta_max_ns, errors, wait_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)
ON CONFLICT (job_id, mount_id) DO UPDATE SET
    read_requests = CAST(read_requests + excluded.read_requests AS INTEGER),
    read_bytes = CAST(read_bytes + excluded.read_bytes AS INTEGER),
    read_errors = CAST(read_errors + excluded.read_errors AS INTEGER),
    read_time_ns = CAST(read_time_ns + excluded.read_time_ns AS INTEGER),
    read_max_ns = max(read_max_ns, excluded.read_max_ns),
    write_requests = CAST(write_requests + excluded.write_requests AS INTEGER),
    write_bytes = CAST(write_bytes + excluded.write_bytes AS INTEGER),
    write_errors = CAST(write_errors + excluded.write_errors AS INTEGER),
    write_time_ns = CAST(write_time_ns + excluded.write_time_ns AS INTEGER),
    write_max_ns = max(write_max_ns, excluded.write_max_ns),
    meta_requests = CAST(meta_requests + excluded.meta_requests AS INTEGER),
    meta_errors = CAST(meta_errors + excluded.meta_errors AS INTEGER),
    meta_time_ns = CAST(meta_time_ns + excluded.meta_time_ns AS INTEGER),
    meta_max_ns = max(meta_max_ns, excluded.meta_max_ns),
    errors = CAST(errors + excluded.errors AS INTEGER),
    wait_ns = CAST(wait_ns + excluded.wait_ns AS INTEGER);
