-- The job that ended first of the owners with at least half as many bytes as the owner with the most, if
-- it ended before a time. Of each owner only the job that started first is considered. ?1 time
SELECT j.id, j.end_ns
FROM state AS s CROSS JOIN job AS j ON j.id = (
    SELECT id FROM job INDEXED BY job_uid_start
    WHERE uid = CAST(substr(s.key, 7) AS INTEGER) AND start_ns < ?1 AND end_ns < ?1 AND ended = 1
        AND expired = 0
    ORDER BY start_ns LIMIT 1)
WHERE s.key > 'share/' AND s.key < 'share0' AND 2 * CAST(s.value AS INTEGER) >= (
    SELECT max(CAST(value AS INTEGER)) FROM state WHERE key > 'share/' AND key < 'share0')
ORDER BY j.end_ns LIMIT 1;
