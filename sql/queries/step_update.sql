-- Update a step; a final step stays final. ?1 its row, ?6.. its columns
UPDATE step SET
    elapsed_ns = ?6, state = ?7, folded = ?8, final = max(final, ?9), longest_wait_ns = ?10,
    lost = ?11, incomplete = ?12, read_requests = ?13, read_bytes = ?14, read_errors = ?15,
    read_time_ns = ?16, read_max_ns = ?17, write_requests = ?18, write_bytes = ?19,
    write_errors = ?20, write_time_ns = ?21, write_max_ns = ?22, meta_requests = ?23,
    meta_errors = ?24, meta_time_ns = ?25, meta_max_ns = ?26, errors = ?27, wait_ns = ?28,
    mpi_incomplete = ?29, block_incomplete = ?30, block_shared_at_most = ?31
WHERE id = ?1;
