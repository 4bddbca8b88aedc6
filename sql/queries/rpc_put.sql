-- Insert the NFS requests of a class. ?1 step, ?2 mount, ?3 1: of kernel threads, ?4 class, ?5.. sums in the
-- order of RPC_SUMS (common/rpc_class.h)
INSERT INTO rpc (step_id, mount_id, shared, class, calls, errors, retransmissions, sent_bytes,
    received_bytes, queued_ns, server_ns, time_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);
