-- 1 a day: forget those before it
DELETE FROM latency_day WHERE day < ?1;
