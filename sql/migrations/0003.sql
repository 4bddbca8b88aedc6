-- SPDX-License-Identifier: GPL-2.0-or-later
-- Finished steps that a sink has not acknowledged yet.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sink TEXT NOT NULL,
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    queued_ns INTEGER NOT NULL,
    refused TEXT,
    UNIQUE (sink, step_id)
);
CREATE INDEX outbox_waiting ON outbox (sink, id) WHERE refused IS NULL;
CREATE INDEX outbox_step ON outbox (step_id);

-- The other nodes of a job that have sent everything they had.
CREATE TABLE job_node (
    job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    node TEXT NOT NULL,
    PRIMARY KEY (job_id, node)
) WITHOUT ROWID;

-- What the other nodes of a job could not count; and its first node, if it is not this one.
ALTER TABLE job ADD COLUMN unsupported_elsewhere TEXT;
ALTER TABLE job ADD COLUMN first_node TEXT;
