-- Set a peak. ?1 job, ?2 mount, ?3 op, ?4 bytes per second, ?5 requests per second
INSERT INTO peak (job_id, mount_id, op, bytes_per_s, requests_per_s)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (job_id, mount_id, op) DO UPDATE SET
    bytes_per_s = max(bytes_per_s, excluded.bytes_per_s),
    requests_per_s = max(requests_per_s, excluded.requests_per_s);
