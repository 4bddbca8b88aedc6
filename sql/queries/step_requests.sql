-- All requests of a step, as stored. ?1 step
SELECT CAST(read_requests + write_requests + meta_requests AS INTEGER) FROM step WHERE id = ?1;
