-- Delete the baselines before a day. ?1 day
DELETE FROM latency_day WHERE day < ?1;
