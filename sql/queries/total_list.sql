-- The totals of the node.
SELECT mount, fstype, labelled, op, requests, async_requests, bytes, errors, time_ns, max_ns
FROM node_total ORDER BY mount, fstype, labelled, op;
