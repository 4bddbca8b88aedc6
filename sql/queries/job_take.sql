-- Subtract a step, as it is stored, from the sums of its job. The longest calls remain. ?1 step, ?2 job
UPDATE job SET (
    steps, steps_incomplete, read_requests, read_bytes, read_errors, read_time_ns,
    write_requests, write_bytes, write_errors, write_time_ns, meta_requests, meta_errors,
    meta_time_ns, errors, wait_ns
) = (SELECT
    job.steps - max(s.folded, 1),
    job.steps_incomplete - (s.lost > 0 OR s.incomplete IS NOT NULL),
    max(0, job.read_requests - s.read_requests), max(0, job.read_bytes - s.read_bytes),
    max(0, job.read_errors - s.read_errors), max(0, job.read_time_ns - s.read_time_ns),
    max(0, job.write_requests - s.write_requests), max(0, job.write_bytes - s.write_bytes),
    max(0, job.write_errors - s.write_errors), max(0, job.write_time_ns - s.write_time_ns),
    max(0, job.meta_requests - s.meta_requests), max(0, job.meta_errors - s.meta_errors),
    max(0, job.meta_time_ns - s.meta_time_ns), max(0, job.errors - s.errors),
    max(0, job.wait_ns - s.wait_ns)
    FROM step AS s WHERE s.id = ?1)
WHERE id = ?2;
