-- The NFS requests of a step on a mount, with the sums in the order of RPC_SUMS (common/rpc_class.h).
-- ?1 step, ?2 mount
SELECT shared, class, calls, errors, retransmissions, sent_bytes, received_bytes, queued_ns, server_ns,
    time_ns
FROM rpc WHERE step_id = ?1 AND mount_id = ?2;
