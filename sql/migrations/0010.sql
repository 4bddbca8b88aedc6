-- SPDX-License-Identifier: GPL-2.0-or-later
-- The stacks of long calls.
CREATE TABLE stack_profile (
    step_id INTEGER PRIMARY KEY REFERENCES step (id) ON DELETE CASCADE,
    least_ns INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    unsampled_calls INTEGER NOT NULL,
    unsampled_ns INTEGER NOT NULL,
    lost_calls INTEGER NOT NULL,
    lost_ns INTEGER NOT NULL,
    failed_calls INTEGER NOT NULL,
    failed_ns INTEGER NOT NULL,
    other_calls INTEGER NOT NULL,
    other_ns INTEGER NOT NULL,
    truncated_calls INTEGER NOT NULL,
    truncated_ns INTEGER NOT NULL,
    unread_calls INTEGER NOT NULL,
    unread_ns INTEGER NOT NULL
);
CREATE TABLE stack (
    step_id INTEGER NOT NULL REFERENCES stack_profile (step_id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    stack TEXT NOT NULL,
    calls INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    PRIMARY KEY (step_id, number)
) WITHOUT ROWID;
CREATE VIEW v_step_stack AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node, k.number, k.stack, k.calls,
       k.time_ns / 1e9 AS time_s
FROM stack AS k
JOIN v_step AS s ON s.step_id = k.step_id;
