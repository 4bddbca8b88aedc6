-- Set a time line. ?1 step, ?2 mount, ?3 start, ?4 width, ?5.. bins
INSERT INTO timeline (step_id, mount_id, start_s, width_s, read_bytes, write_bytes, meta_requests,
    wait_ns, longest_wait_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
