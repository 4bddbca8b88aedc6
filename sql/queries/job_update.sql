-- Update a job. ?1 its row, ?4.. its columns
UPDATE job SET
    uid = ?4, user = ?5, account = ?6, partition = ?7, name = ?8, ended = ?9, start_ns = ?10,
    end_ns = ?11, elapsed_ns = ?12, nodes_expected = ?13,
    nodes_reported = ?14 + (SELECT count(*) FROM job_node WHERE job_id = ?1),
    longest_wait_ns = max(longest_wait_ns, ?15), lost = ?16, incomplete = ?17, unsupported = ?18,
    ns_per_event = ?19, first_node = ifnull(?20, first_node),
    array_job = ifnull(?21, array_job), array_task = ifnull(?22, array_task)
WHERE id = ?1;
