-- 1 a day: forget medians that no job has any more
DELETE FROM latency_day WHERE day = ?1 AND jobs = 0;
