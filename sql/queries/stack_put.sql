-- Insert a stack of a step. ?1 step, ?2 its number, ?3 text, ?4 calls, ?5 ns
INSERT INTO stack (step_id, number, stack, calls, time_ns) VALUES (?1, ?2, ?3, ?4, ?5);
