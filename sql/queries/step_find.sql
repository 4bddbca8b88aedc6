-- The id of a step. ?1 job, ?2 het, ?3 step, ?4 node, ?5 tagged_at_ns
SELECT id, final FROM step
WHERE job_id = ?1 AND het = ?2 AND step = ?3 AND node = ?4 AND tagged_at_ns = ?5;
