-- Like baseline_job, by the row of a job. ?1 job
SELECT id, end_ns, latency_counted, nodes_reported >= nodes_expected OR first_node IS NOT NULL
FROM job WHERE id = ?1 AND expired = 0 AND ended = 1;
