-- Insert a step. ?1 job, ?2 het, ?3 step, ?4 node, ?5 tagged_at_ns, ?6.. as in step_update
INSERT INTO step (job_id, het, step, node, tagged_at_ns,
    elapsed_ns, state, folded, final, longest_wait_ns, lost, incomplete, read_requests,
    read_bytes, read_errors, read_time_ns, read_max_ns, write_requests, write_bytes,
    write_errors, write_time_ns, write_max_ns, meta_requests, meta_errors, meta_time_ns,
    meta_max_ns, errors, wait_ns, mpi_incomplete,
    block_incomplete, block_shared_at_most)
VALUES (?1, ?2, ?3, ?4, ?5,
    ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24,
    ?25, ?26, ?27, ?28, ?29, ?30, ?31);
