-- The longest run of an ended job, if it is more than a day.
SELECT max(end_ns - start_ns) FROM job INDEXED BY job_long
WHERE ended = 1 AND end_ns - start_ns > 86400000000000;
