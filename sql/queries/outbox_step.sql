-- The step of a row, with the columns of step_list. ?1 step
SELECT id, het, step, node, tagged_at_ns, elapsed_ns, state, folded, longest_wait_ns,
    lost, incomplete, mpi_incomplete, block_incomplete, block_shared_at_most
FROM step WHERE id = ?1;
