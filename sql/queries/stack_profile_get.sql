-- The counts of the stacks of a step. ?1 step
SELECT least_ns, calls, time_ns, unsampled_calls, unsampled_ns, lost_calls, lost_ns,
    failed_calls, failed_ns, other_calls, other_ns, truncated_calls, truncated_ns, unread_calls,
    unread_ns
FROM stack_profile WHERE step_id = ?1;
