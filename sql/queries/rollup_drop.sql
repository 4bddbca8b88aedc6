-- 1 days, 2 first of a block: forget it
DELETE FROM rollup_block WHERE first_ns = ?2 AND days = ?1;
