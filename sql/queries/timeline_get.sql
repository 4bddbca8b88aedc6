-- A time line. ?1 step, ?2 mount
SELECT start_s, width_s, read_bytes, write_bytes, meta_requests, wait_ns, longest_wait_ns
FROM timeline WHERE step_id = ?1 AND mount_id = ?2;
