-- Delete a block. ?1 days, ?2 first
DELETE FROM rollup_block WHERE first_ns = ?2 AND days = ?1;
