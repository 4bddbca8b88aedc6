-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of jobs.sql: the sums of the whole job.
NULL AS mount, read_requests, read_bytes, read_errors, read_time_ns, read_max_ns,
    write_requests, write_bytes, write_errors, write_time_ns, write_max_ns,
    meta_requests, meta_errors, meta_time_ns, meta_max_ns, errors, job.wait_ns AS wait_ns
