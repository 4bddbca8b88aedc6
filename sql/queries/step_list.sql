-- The steps of a job. ?1 job, ?2 node or NULL
SELECT id, het, step, node, tagged_at_ns, elapsed_ns, state, folded, longest_wait_ns,
    lost, incomplete, mpi_incomplete, block_incomplete, block_shared_at_most
FROM step WHERE job_id = ?1 AND (?2 IS NULL OR node = ?2)
ORDER BY het, step, node, tagged_at_ns;
