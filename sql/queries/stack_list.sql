-- The stacks of a step. ?1 step
SELECT stack, calls, time_ns FROM stack WHERE step_id = ?1 ORDER BY number;
