-- The jobs that ended after ?1 and whose state in Slurm is not known, newest first, without those that
-- another node asks for.
SELECT cluster, jobid, restart FROM job INDEXED BY job_end
WHERE ended = 1 AND end_ns >= ?1 AND slurm_state IS NULL AND first_node IS NULL AND expired = 0
ORDER BY end_ns DESC;
