-- 1 job, 2 node: it has sent all that it had
INSERT OR IGNORE INTO job_node (job_id, node) VALUES (?1, ?2);
