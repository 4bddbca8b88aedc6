-- Set the page cache counters and the users of a step on a mount. ?1 step, ?2 mount, ?3 hit, ?4 miss,
-- ?5.. filled by read, fault, prefetch, write, ?9.. readers, ?12.. writers, ?15.. rpc
INSERT INTO step_mount (step_id, mount_id, cache_hit_bytes, cache_miss_bytes,
    fill_read_bytes, fill_fault_bytes, fill_prefetch_bytes, fill_write_bytes,
    readers, reader_threads, readers_at_least, writers, writer_threads, writers_at_least,
    rpc_incomplete, rpc_shared_at_most)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16);
