-- Update a job that has not run here with what other nodes report. ?1 job, ?2 ended, ?3 end,
-- ?4 elapsed, ?5 nodes, ?6 this node
UPDATE job SET
    ended = max(ended, ?2),
    end_ns = CASE WHEN ?2 = 0 THEN end_ns WHEN ended = 0 THEN ?3 ELSE max(end_ns, ?3) END,
    elapsed_ns = max(elapsed_ns, ?4), nodes_expected = max(nodes_expected, ?5)
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM step WHERE job_id = ?1 AND node = ?6);
