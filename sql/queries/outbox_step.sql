-- 1 step, its columns as in step_list
SELECT id, het, step, node, tagged_at_ns, elapsed_ns, state, folded, longest_wait_ns,
    lost, incomplete
FROM step WHERE id = ?1;
