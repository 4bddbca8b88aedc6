-- The peaks of a job. ?1 job
SELECT m.mount, m.fstype, m.source, m.private, m.labelled, p.op, p.bytes_per_s, p.requests_per_s
FROM peak AS p JOIN mount AS m ON m.id = p.mount_id
WHERE p.job_id = ?1;
