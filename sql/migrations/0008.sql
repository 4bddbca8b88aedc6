-- SPDX-License-Identifier: GPL-2.0-or-later
-- The requests of the NFS client.
ALTER TABLE step_mount ADD COLUMN rpc_incomplete INTEGER;
ALTER TABLE step_mount ADD COLUMN rpc_shared_at_most INTEGER;
CREATE TABLE rpc (
    step_id INTEGER NOT NULL,
    mount_id INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    class TEXT NOT NULL,
    calls INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    retransmissions INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,
    received_bytes INTEGER NOT NULL,
    queued_ns INTEGER NOT NULL,
    server_ns INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    PRIMARY KEY (step_id, mount_id, shared, class),
    FOREIGN KEY (step_id, mount_id) REFERENCES step_mount (step_id, mount_id) ON DELETE CASCADE
) WITHOUT ROWID;
