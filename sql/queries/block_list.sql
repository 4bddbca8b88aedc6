-- The requests to disks of a step, with the sums in the order of BLOCK_SUMS (common/block_class.h). ?1 step
SELECT device, shared, class, requests, errors, bytes, queued_ns, device_ns, latency_log2
FROM block WHERE step_id = ?1;
