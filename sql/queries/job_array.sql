-- Like job_list, for the tasks of an array: by task, starting at task ?3, the newest run of each first;
-- only those of the user who ran the array last. ?1 array, ?2 uid or NULL
SELECT id, cluster, jobid, restart, uid, user, account, partition, name, ended,
    start_ns, end_ns, elapsed_ns, nodes_expected, nodes_reported, longest_wait_ns,
    lost, incomplete, unsupported, ns_per_event, first_node,
    unsupported_elsewhere, array_job, array_task, slurm_state, exit_code, exit_signal
FROM job
WHERE array_job = ?1 AND array_task >= ?3 AND expired = 0
    AND (cluster, uid) = (SELECT cluster, uid FROM job
        WHERE array_job = ?1 AND expired = 0 AND (?2 IS NULL OR uid = ?2)
        ORDER BY start_ns DESC LIMIT 1)
ORDER BY array_task, start_ns DESC, id DESC;
