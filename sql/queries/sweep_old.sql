-- The job that ended first, if it ended before a time and no sink waits for it. ?1 time
SELECT id, end_ns FROM job WHERE end_ns < ?1 AND ended = 1 AND expired = 0
    AND NOT EXISTS (SELECT 1 FROM step AS s JOIN outbox AS o ON o.step_id = s.id
                    WHERE s.job_id = job.id AND o.refused IS NULL)
ORDER BY end_ns LIMIT 1;
