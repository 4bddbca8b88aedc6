-- Delete the sums of a block. ?1 days, ?2 first
DELETE FROM rollup
WHERE first_ns = ?2 AND ((?1 = 32 AND kind IN (2, 5)) OR (?1 = 8 AND kind IN (1, 3, 4, 6)));
