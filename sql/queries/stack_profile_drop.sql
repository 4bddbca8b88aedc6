-- Delete the stacks of a step. ?1 step
DELETE FROM stack_profile WHERE step_id = ?1;
