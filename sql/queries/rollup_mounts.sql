-- Add what the jobs that ended between ?3 and ?4 did on their mounts to the sums of a block. ?1 days,
-- ?2 first. A job with several mounts of one name counts once. Overflows as in rollup_jobs.
INSERT INTO rollup (kind, first_ns, uid, user, account, partition, name, quarter, mount,
    jobs, complete, start_ns, end_ns, elapsed_ns, steps,
    read_requests, read_bytes, read_errors, read_time_ns, read_max_ns,
    write_requests, write_bytes, write_errors, write_time_ns, write_max_ns,
    meta_requests, meta_errors, meta_time_ns, meta_max_ns, errors, wait_ns)
SELECT k.kind, ?2,
    CASE k.kind WHEN 4 THEN job.uid ELSE 0 END,
    CASE k.kind WHEN 4 THEN ifnull(job.user, 0) ELSE 0 END,
    CASE k.kind WHEN 4 THEN ifnull(job.account, 0) ELSE 0 END,
    CASE k.kind WHEN 4 THEN ifnull(job.partition, 0) ELSE 0 END,
    CASE k.kind WHEN 5 THEN ifnull(job.name, 0) ELSE 0 END,
    CASE k.kind WHEN 6 THEN job.start_ns / 900000000000 ELSE 0 END, mount.mount,
    1 - f.other, job.lost = 0 AND job.incomplete IS NULL AND job.steps_incomplete = 0
        AND job.nodes_expected > 0 AND job.nodes_reported >= job.nodes_expected,
    job.start_ns, job.end_ns, job.elapsed_ns * (1 - f.other),
    (job.steps & 4294967295) * (1 - f.other),
    m.read_requests, m.read_bytes, m.read_errors, m.read_time_ns, m.read_max_ns,
    m.write_requests, m.write_bytes, m.write_errors, m.write_time_ns, m.write_max_ns,
    m.meta_requests, m.meta_errors, m.meta_time_ns, m.meta_max_ns, m.errors, m.wait_ns
FROM job INDEXED BY job_end CROSS JOIN job_mount AS m ON m.job_id = job.id
    CROSS JOIN mount ON mount.id = m.mount_id
    CROSS JOIN (SELECT 0 AS other UNION ALL SELECT 1) AS f ON f.other = EXISTS (
        SELECT 1 FROM job_mount AS o CROSS JOIN mount AS n ON n.id = o.mount_id
        WHERE o.job_id = m.job_id AND o.mount_id < m.mount_id AND n.mount = mount.mount)
    CROSS JOIN (SELECT 4 AS kind, 8 AS days UNION ALL SELECT 5, 32 UNION ALL SELECT 6, 8) AS k
WHERE k.days = ?1 AND job.ended = 1 AND job.expired = 0 AND job.end_ns >= ?3 AND job.end_ns < ?4
ON CONFLICT (kind, first_ns, uid, user, account, partition, name, quarter, mount) DO UPDATE SET
    jobs = jobs + excluded.jobs, complete = min(complete, excluded.complete),
    start_ns = min(start_ns, excluded.start_ns), end_ns = max(end_ns, excluded.end_ns),
    elapsed_ns = CAST(elapsed_ns + excluded.elapsed_ns AS INTEGER),
    steps = min(4294967295, steps + excluded.steps),
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
