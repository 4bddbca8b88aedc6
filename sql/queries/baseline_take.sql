-- Subtract one job from a median. ?1 mount, ?2 op, ?3 day, ?4 median
UPDATE latency_day SET jobs = jobs - 1
WHERE mount_id = ?1 AND op = ?2 AND day = ?3 AND median_ns = ?4 AND jobs > 0;
