-- 1 days, 2 first of a block: how far it goes
SELECT upto_ns FROM rollup_block WHERE first_ns = ?2 AND days = ?1;
