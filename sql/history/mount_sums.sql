-- SPDX-License-Identifier: GPL-2.0-or-later
-- Part of jobs.sql: the sums of one mount.
mount.mount AS mount, m.read_requests AS read_requests, m.read_bytes AS read_bytes,
    m.read_errors, m.read_time_ns, m.read_max_ns,
    m.write_requests, m.write_bytes AS write_bytes, m.write_errors, m.write_time_ns,
    m.write_max_ns, m.meta_requests AS meta_requests, m.meta_errors, m.meta_time_ns,
    m.meta_max_ns, m.errors AS errors, m.wait_ns AS wait_ns
