-- The number of nodes of a job that have reported, including this node. ?1 job
UPDATE job SET nodes_reported = 1 + (SELECT count(*) FROM job_node WHERE job_id = ?1) WHERE id = ?1;
