-- Jobs that ended before ?1 and still wait for accounts of other nodes before they enter latency_day.
-- ?2 limit
SELECT j.id FROM state AS s JOIN job AS j ON j.id = CAST(substr(s.key, 8) AS INTEGER)
WHERE s.key >= 'normal/' AND s.key < 'normal0' AND j.expired = 0 AND j.ended = 1 AND j.end_ns < ?1
LIMIT ?2;
