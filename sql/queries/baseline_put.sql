-- Add one job to a median. ?1 mount, ?2 op, ?3 day, ?4 median
INSERT INTO latency_day (mount_id, op, day, median_ns, jobs) VALUES (?1, ?2, ?3, ?4, 1)
ON CONFLICT (mount_id, op, day, median_ns) DO UPDATE SET jobs = jobs + 1;
