-- Delete a step and its counters. ?1 step
DELETE FROM step WHERE id = ?1;
