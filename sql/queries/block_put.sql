-- Insert the requests of a class to a disk. ?1 step, ?2 device, ?3 1: of kernel threads, ?4 class, ?5.. sums in
-- the order of BLOCK_SUMS (common/block_class.h), histogram
INSERT INTO block (step_id, device, shared, class, requests, errors, bytes, queued_ns, device_ns,
    latency_log2)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
