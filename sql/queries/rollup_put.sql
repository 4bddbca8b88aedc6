-- Note how far a block is filled. ?1 days, ?2 first, ?3 and ?4 the span of ends that was added
INSERT INTO rollup_block (days, first_ns, upto_ns, last_start_ns)
SELECT ?1, ?2, ?4, ifnull(max(start_ns), 0) FROM job INDEXED BY job_end
WHERE end_ns >= ?3 AND end_ns < ?4 AND ended = 1 AND expired = 0
ON CONFLICT (first_ns, days) DO UPDATE SET
    upto_ns = excluded.upto_ns, last_start_ns = max(last_start_ns, excluded.last_start_ns);
