-- Insert the counts of the stacks of a step. ?1 step, ?2.. in the order of the columns
INSERT INTO stack_profile (step_id, least_ns, calls, time_ns, unsampled_calls, unsampled_ns, lost_calls, lost_ns,
    failed_calls, failed_ns, other_calls, other_ns, truncated_calls, truncated_ns, unread_calls,
    unread_ns)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16);
