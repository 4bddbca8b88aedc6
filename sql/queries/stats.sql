-- Number of jobs, number of steps, end of the oldest ended job.
SELECT (SELECT count(*) FROM job), (SELECT count(*) FROM step),
    (SELECT min(end_ns) FROM job WHERE end_ns < 9223372036854775807);
