-- Subtract the stored counters of a step from the totals of the node. ?1 step, ?2 how many
-- types of private mounts have a row of their own; users can invent types. The others are one, "(other)".
INSERT INTO node_total (mount, fstype, labelled, op,
    requests, async_requests, bytes, errors, time_ns, max_ns)
SELECT CASE m.labelled WHEN 1 THEN m.mount ELSE '(private)' END,
    CASE WHEN m.labelled
              OR EXISTS (SELECT * FROM node_total AS t WHERE t.mount = '(private)' AND t.fstype = m.fstype)
              OR (SELECT count(DISTINCT t.fstype) FROM node_total AS t WHERE t.mount = '(private)') < ?2
         THEN m.fstype ELSE '(other)' END,
    m.labelled, i.op,
    i.requests, i.async_requests, i.bytes, i.errors, i.time_ns, i.max_ns
FROM io AS i JOIN mount AS m ON m.id = i.mount_id
WHERE i.step_id = ?1
ON CONFLICT (mount, fstype, labelled, op) DO UPDATE SET
    requests = max(0, requests - excluded.requests),
    async_requests = max(0, async_requests - excluded.async_requests),
    bytes = max(0, bytes - excluded.bytes),
    errors = max(0, errors - excluded.errors),
    time_ns = max(0, time_ns - excluded.time_ns),
    max_ns = max(max_ns, excluded.max_ns);
