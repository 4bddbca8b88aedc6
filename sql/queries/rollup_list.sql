-- The blocks of which all jobs ran between ?2 and ?3. ?1 days
SELECT first_ns, upto_ns FROM rollup_block
WHERE days = ?1 AND first_ns >= ?2 AND first_ns < ?3 AND upto_ns <= ?3 AND upto_ns > first_ns
    AND last_start_ns < ?3
ORDER BY first_ns;
