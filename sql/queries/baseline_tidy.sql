-- Delete medians of a day that no job has any more. ?1 day
DELETE FROM latency_day WHERE day = ?1 AND jobs = 0;
