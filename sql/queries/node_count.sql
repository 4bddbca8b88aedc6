-- 1 job: this node, and those that have sent all that they had
UPDATE job SET nodes_reported = 1 + (SELECT count(*) FROM job_node WHERE job_id = ?1) WHERE id = ?1;
