-- The mounts of a step. ?1 step
SELECT m.id, m.mount, m.fstype, m.source, m.private, m.labelled, s.cache_hit_bytes,
    s.cache_miss_bytes, s.fill_read_bytes, s.fill_fault_bytes, s.fill_prefetch_bytes,
    s.fill_write_bytes, s.readers, s.reader_threads, s.readers_at_least, s.writers,
    s.writer_threads, s.writers_at_least, s.rpc_incomplete, s.rpc_shared_at_most
FROM step_mount AS s JOIN mount AS m ON m.id = s.mount_id
WHERE s.step_id = ?1
ORDER BY m.id;
