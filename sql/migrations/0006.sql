-- SPDX-License-Identifier: GPL-2.0-or-later
-- The calls of MPI-IO of steps.
ALTER TABLE step ADD COLUMN mpi_incomplete TEXT;
CREATE TABLE mpi (
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    class TEXT NOT NULL,
    calls INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    requested_bytes INTEGER NOT NULL,
    unknown_calls INTEGER NOT NULL,
    size_log2 TEXT,
    latency_log2 TEXT,
    PRIMARY KEY (step_id, class)
) WITHOUT ROWID;
CREATE VIEW v_step_mpi AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node, m.class, m.calls, m.errors,
       m.bytes, m.requested_bytes, m.unknown_calls, m.time_ns / 1e9 AS time_s,
       t.mpi_incomplete AS incomplete
FROM mpi AS m
JOIN step AS t ON t.id = m.step_id
JOIN v_step AS s ON s.step_id = m.step_id;
CREATE VIEW v_job_mpi AS
SELECT j.cluster, j.jobid, j.restart, j.user, m.class, sum(m.calls) AS calls,
       sum(m.errors) AS errors, sum(m.bytes) AS bytes, sum(m.requested_bytes) AS requested_bytes,
       sum(m.unknown_calls) AS unknown_calls, sum(m.time_ns) / 1e9 AS time_s,
       j.nodes_expected > 0 AND j.nodes_reported >= j.nodes_expected
           AND NOT EXISTS (SELECT 1 FROM step WHERE job_id = j.id AND mpi_incomplete <> '[]') AS complete
FROM job AS j
JOIN step AS s ON s.job_id = j.id
JOIN mpi AS m ON m.step_id = s.id
WHERE j.expired = 0
GROUP BY j.id, m.class;
-- The longest wait of one thread, over time.
ALTER TABLE timeline ADD COLUMN longest_wait_ns TEXT;
