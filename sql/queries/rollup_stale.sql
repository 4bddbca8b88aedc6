-- A block that is out of date.
SELECT days, first_ns FROM rollup_block WHERE upto_ns = 0 LIMIT 1;
