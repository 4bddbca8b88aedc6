-- Jobs that had not ended when they were last written.
SELECT id, cluster, jobid, restart, uid, user, account, partition, name, ended,
    start_ns, end_ns, elapsed_ns, nodes_expected, nodes_reported, longest_wait_ns,
    lost, incomplete, unsupported, ns_per_event, first_node,
    NULL, array_job, array_task, slurm_state, exit_code, exit_signal
FROM job
WHERE end_ns = 9223372036854775807 AND ended = 0 AND expired = 0
ORDER BY start_ns, id;
