-- Add a step to the sums of its job. ?1 step, ?2 job. A sum beyond 2^63 becomes a REAL, which CAST
-- converts to the largest integer.
UPDATE job SET (
    steps, steps_incomplete, read_requests, read_bytes, read_errors, read_time_ns,
    write_requests, write_bytes, write_errors, write_time_ns, meta_requests, meta_errors,
    meta_time_ns, errors, wait_ns, read_max_ns, write_max_ns, meta_max_ns,
    longest_wait_ns
) = (SELECT
    job.steps + max(s.folded, 1),
    job.steps_incomplete + (s.lost > 0 OR s.incomplete IS NOT NULL),
    CAST(job.read_requests + s.read_requests AS INTEGER),
    CAST(job.read_bytes + s.read_bytes AS INTEGER),
    CAST(job.read_errors + s.read_errors AS INTEGER),
    CAST(job.read_time_ns + s.read_time_ns AS INTEGER),
    CAST(job.write_requests + s.write_requests AS INTEGER),
    CAST(job.write_bytes + s.write_bytes AS INTEGER),
    CAST(job.write_errors + s.write_errors AS INTEGER),
    CAST(job.write_time_ns + s.write_time_ns AS INTEGER),
    CAST(job.meta_requests + s.meta_requests AS INTEGER),
    CAST(job.meta_errors + s.meta_errors AS INTEGER),
    CAST(job.meta_time_ns + s.meta_time_ns AS INTEGER), CAST(job.errors + s.errors AS INTEGER),
    CAST(job.wait_ns + s.wait_ns AS INTEGER), max(job.read_max_ns, s.read_max_ns),
    max(job.write_max_ns, s.write_max_ns), max(job.meta_max_ns, s.meta_max_ns),
    max(job.longest_wait_ns, s.longest_wait_ns)
    FROM step AS s WHERE s.id = ?1)
WHERE id = ?2;
