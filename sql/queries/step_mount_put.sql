-- Set the page cache counters of a step on a mount. ?1 step, ?2 mount, ?3 hit, ?4 miss, ?5.. filled by
-- read, fault, prefetch, write
INSERT INTO step_mount (step_id, mount_id, cache_hit_bytes, cache_miss_bytes,
    fill_read_bytes, fill_fault_bytes, fill_prefetch_bytes, fill_write_bytes)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8);
