-- 1 job
SELECT id, het, step, node, tagged_at_ns, elapsed_ns, state, folded, longest_wait_ns,
    lost, incomplete
FROM step WHERE job_id = ?1
ORDER BY het, step, node, tagged_at_ns;
