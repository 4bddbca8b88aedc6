-- 1 days, 2 since, 3 until: the blocks all of whose jobs ran in that span
SELECT first_ns, upto_ns FROM rollup_block
WHERE days = ?1 AND first_ns >= ?2 AND first_ns < ?3 AND upto_ns <= ?3 AND upto_ns > first_ns
    AND last_start_ns < ?3
ORDER BY first_ns;
