-- How far a block is filled. ?1 days, ?2 first
SELECT upto_ns FROM rollup_block WHERE first_ns = ?2 AND days = ?1;
