-- A node has sent everything that it had of a job. ?1 job, ?2 node
INSERT OR IGNORE INTO job_node (job_id, node) VALUES (?1, ?2);
