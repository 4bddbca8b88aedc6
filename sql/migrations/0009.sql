-- SPDX-License-Identifier: GPL-2.0-or-later
-- The requests to disks.
ALTER TABLE step ADD COLUMN block_incomplete INTEGER;
ALTER TABLE step ADD COLUMN block_shared_at_most INTEGER;
CREATE TABLE block (
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    device TEXT NOT NULL,
    shared INTEGER NOT NULL,
    class TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    queued_ns INTEGER NOT NULL,
    device_ns INTEGER NOT NULL,
    latency_log2 TEXT,
    PRIMARY KEY (step_id, device, shared, class)
) WITHOUT ROWID;
CREATE VIEW v_step_block AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node, b.device, b.shared, b.class,
       b.requests, b.errors, b.bytes, b.queued_ns / 1e9 AS queued_s, b.device_ns / 1e9 AS device_s,
       t.block_incomplete AS incomplete
FROM block AS b
JOIN step AS t ON t.id = b.step_id
JOIN v_step AS s ON s.step_id = b.step_id;
