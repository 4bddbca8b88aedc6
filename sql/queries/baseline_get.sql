-- How many jobs had which median on a mount, since a day. ?1 mount, ?2 fstype, ?3 source, ?4 day
SELECT op, median_ns, sum(jobs) FROM latency_day
WHERE mount_id IN (SELECT id FROM mount
        WHERE mount = ?1 AND fstype = ?2 AND source = ?3 AND private = 0)
    AND op IN ('read', 'write', 'open') AND day >= ?4
GROUP BY op, median_ns
ORDER BY op, median_ns;
