-- The holders and restarts of a job number. ?1 cluster or NULL, ?2 jobid, ?3 uid or NULL, ?4 limit
SELECT id, cluster, jobid, restart, uid, user, account, partition, name, ended,
    start_ns, end_ns, elapsed_ns, nodes_expected, nodes_reported, longest_wait_ns,
    lost, incomplete, unsupported, ns_per_event, first_node,
    unsupported_elsewhere, array_job, array_task, slurm_state, exit_code, exit_signal
FROM job
WHERE jobid = ?2 AND expired = 0 AND (?1 IS NULL OR cluster = ?1) AND (?3 IS NULL OR uid = ?3)
ORDER BY start_ns DESC, id DESC LIMIT ?4;
