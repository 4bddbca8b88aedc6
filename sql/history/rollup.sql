-- SPDX-License-Identifier: GPL-2.0-or-later
-- The sums of blocks that start from :from to :to, as rows of jobs.sql, followed by the number of jobs.
SELECT NULL, NULL, nullif(user, 0), nullif(account, 0), nullif(partition, 0), nullif(name, 0), 0, 0,
    uid, 1, complete, start_ns, end_ns, elapsed_ns, steps, 0, 0, nullif(mount, 0),
    read_requests, read_bytes, read_errors, read_time_ns, read_max_ns,
    write_requests, write_bytes, write_errors, write_time_ns, write_max_ns,
    meta_requests, meta_errors, meta_time_ns, meta_max_ns, errors, wait_ns, NULL, NULL, NULL, NULL,
    NULL, jobs
FROM rollup
WHERE kind = :kind AND first_ns >= :from AND first_ns <= :to
    AND (:mounts IS NULL OR mount IN (SELECT value FROM json_each(:mounts))) %CONDITIONS%
