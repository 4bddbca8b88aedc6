-- Insert a job, or another holder of its number. ?1 cluster, ?2 jobid, ?3 restart, ?4.. as in job_update
INSERT INTO job (cluster, jobid, restart, holder,
    uid, user, account, partition, name, ended, start_ns, end_ns, elapsed_ns, nodes_expected,
    nodes_reported, longest_wait_ns, lost, incomplete, unsupported, ns_per_event,
    first_node, array_job, array_task)
SELECT ?1, ?2, ?3, ifnull(max(holder), -1) + 1,
    ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20,
    ?21, ?22
FROM job WHERE cluster = ?1 AND jobid = ?2 AND restart = ?3;
