-- 1 step: what it has done in all, as it is stored
SELECT CAST(read_requests + write_requests + meta_requests AS INTEGER) FROM step WHERE id = ?1;
