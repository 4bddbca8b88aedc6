-- The job of a row, with the columns of job_list. ?1 job
SELECT id, cluster, jobid, restart, uid, user, account, partition, name, ended,
    start_ns, end_ns, elapsed_ns, nodes_expected, nodes_reported, longest_wait_ns,
    lost, incomplete, unsupported, ns_per_event, first_node,
    NULL, array_job, array_task, slurm_state, exit_code, exit_signal
FROM job WHERE id = ?1;
