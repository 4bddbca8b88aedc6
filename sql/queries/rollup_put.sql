-- 1 days, 2 first of a block, 3 how far it goes, 4 the latest start
INSERT INTO rollup_block (days, first_ns, upto_ns, last_start_ns) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (first_ns, days) DO UPDATE SET
    upto_ns = excluded.upto_ns, last_start_ns = max(last_start_ns, excluded.last_start_ns);
