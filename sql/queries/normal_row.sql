-- As normal_job, of 1 a job's row
SELECT id, end_ns, latency_counted, nodes_reported >= nodes_expected OR first_node IS NOT NULL
FROM job WHERE id = ?1 AND expired = 0 AND ended = 1;
