-- SPDX-License-Identifier: GPL-2.0-or-later
-- Tasks of job arrays.
ALTER TABLE job ADD COLUMN array_job INTEGER;
ALTER TABLE job ADD COLUMN array_task INTEGER;
CREATE INDEX job_array ON job (array_job, array_task) WHERE array_job IS NOT NULL;

-- Baselines of mounts.
ALTER TABLE job ADD COLUMN latency_counted INTEGER NOT NULL DEFAULT 0;
CREATE TABLE latency_day (
    mount_id INTEGER NOT NULL REFERENCES mount (id),
    op TEXT NOT NULL,
    day INTEGER NOT NULL,
    median_ns INTEGER NOT NULL,
    jobs INTEGER NOT NULL,
    PRIMARY KEY (mount_id, op, day, median_ns)
) WITHOUT ROWID;
CREATE INDEX latency_day_day ON latency_day (day);

-- Time lines of steps.
CREATE TABLE timeline (
    step_id INTEGER NOT NULL,
    mount_id INTEGER NOT NULL,
    start_s INTEGER NOT NULL,
    width_s INTEGER NOT NULL,
    read_bytes TEXT,
    write_bytes TEXT,
    meta_requests TEXT,
    wait_ns TEXT,
    PRIMARY KEY (step_id, mount_id),
    FOREIGN KEY (step_id, mount_id) REFERENCES step_mount (step_id, mount_id) ON DELETE CASCADE
);

-- Indexes for the history by start and common conditions; the old ones were by end.
DROP INDEX job_uid_end;
DROP INDEX job_user_end;
CREATE INDEX job_start ON job (start_ns, end_ns);
CREATE INDEX job_uid_start ON job (uid, start_ns);
CREATE INDEX job_user_start ON job (user, start_ns);
CREATE INDEX job_account_start ON job (account, start_ns);
CREATE INDEX job_name_start ON job (name, start_ns);
CREATE INDEX job_running ON job (start_ns) WHERE ended = 0;
CREATE INDEX job_long ON job (end_ns - start_ns)
    WHERE ended = 1 AND end_ns - start_ns > 86400000000000;

-- Sums of a job on a mount, from those of its steps. A sum beyond 2^63 becomes a REAL, which CAST converts
-- to the largest integer; sum() would fail.
CREATE TABLE job_mount (
    job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    mount_id INTEGER NOT NULL,
    read_requests INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    read_errors INTEGER NOT NULL,
    read_time_ns INTEGER NOT NULL,
    read_max_ns INTEGER NOT NULL,
    write_requests INTEGER NOT NULL,
    write_bytes INTEGER NOT NULL,
    write_errors INTEGER NOT NULL,
    write_time_ns INTEGER NOT NULL,
    write_max_ns INTEGER NOT NULL,
    meta_requests INTEGER NOT NULL,
    meta_errors INTEGER NOT NULL,
    meta_time_ns INTEGER NOT NULL,
    meta_max_ns INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    wait_ns INTEGER NOT NULL,
    PRIMARY KEY (job_id, mount_id)
) WITHOUT ROWID;
INSERT INTO job_mount
SELECT s.job_id, i.mount_id,
    i.requests * i.reads, i.bytes * i.reads, i.errors * i.reads, i.time_ns * i.reads, i.max_ns * i.reads,
    i.requests * i.writes, i.bytes * i.writes, i.errors * i.writes, i.time_ns * i.writes, i.max_ns * i.writes,
    i.requests * i.meta, i.errors * i.meta, i.time_ns * i.meta, i.max_ns * i.meta,
    i.errors, i.time_ns
FROM (SELECT *, op IN ('read', 'copy_read') AS reads, op IN ('write', 'copy_write') AS writes,
          op NOT IN ('read', 'write', 'copy_read', 'copy_write', 'clone', 'mmap_read',
                     'mmap_write') AS meta
      FROM io WHERE op != 'create') AS i
JOIN step AS s ON s.id = i.step_id
WHERE true
ON CONFLICT (job_id, mount_id) DO UPDATE SET
    read_requests = CAST(read_requests + excluded.read_requests AS INTEGER),
    read_bytes = CAST(read_bytes + excluded.read_bytes AS INTEGER),
    read_errors = CAST(read_errors + excluded.read_errors AS INTEGER),
    read_time_ns = CAST(read_time_ns + excluded.read_time_ns AS INTEGER),
    read_max_ns = max(read_max_ns, excluded.read_max_ns),
    write_requests = CAST(write_requests + excluded.write_requests AS INTEGER),
    write_bytes = CAST(write_bytes + excluded.write_bytes AS INTEGER),
    write_errors = CAST(write_errors + excluded.write_errors AS INTEGER),
    write_time_ns = CAST(write_time_ns + excluded.write_time_ns AS INTEGER),
    write_max_ns = max(write_max_ns, excluded.write_max_ns),
    meta_requests = CAST(meta_requests + excluded.meta_requests AS INTEGER),
    meta_errors = CAST(meta_errors + excluded.meta_errors AS INTEGER),
    meta_time_ns = CAST(meta_time_ns + excluded.meta_time_ns AS INTEGER),
    meta_max_ns = max(meta_max_ns, excluded.meta_max_ns),
    errors = CAST(errors + excluded.errors AS INTEGER),
    wait_ns = CAST(wait_ns + excluded.wait_ns AS INTEGER);
INSERT OR IGNORE INTO job_mount
SELECT s.job_id, t.mount_id, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
FROM step_mount AS t JOIN step AS s ON s.id = t.step_id;

-- Sequential and random reads and writes.
ALTER TABLE io ADD COLUMN sequential_requests INTEGER NOT NULL DEFAULT 0;
ALTER TABLE io ADD COLUMN random_requests INTEGER NOT NULL DEFAULT 0;

-- Sums for the history, made in the background.
CREATE TABLE rollup_block (
    first_ns INTEGER NOT NULL,
    days INTEGER NOT NULL,
    upto_ns INTEGER NOT NULL,
    last_start_ns INTEGER NOT NULL,
    PRIMARY KEY (first_ns, days)
) WITHOUT ROWID;
CREATE TABLE rollup (
    kind INTEGER NOT NULL,
    first_ns INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    user NOT NULL,
    account NOT NULL,
    partition NOT NULL,
    name NOT NULL,
    quarter INTEGER NOT NULL,
    mount NOT NULL,
    jobs INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,
    elapsed_ns INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    read_requests INTEGER NOT NULL,
    read_bytes INTEGER NOT NULL,
    read_errors INTEGER NOT NULL,
    read_time_ns INTEGER NOT NULL,
    read_max_ns INTEGER NOT NULL,
    write_requests INTEGER NOT NULL,
    write_bytes INTEGER NOT NULL,
    write_errors INTEGER NOT NULL,
    write_time_ns INTEGER NOT NULL,
    write_max_ns INTEGER NOT NULL,
    meta_requests INTEGER NOT NULL,
    meta_errors INTEGER NOT NULL,
    meta_time_ns INTEGER NOT NULL,
    meta_max_ns INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    wait_ns INTEGER NOT NULL,
    PRIMARY KEY (kind, first_ns, uid, user, account, partition, name, quarter, mount)
) WITHOUT ROWID;
CREATE TRIGGER rollup_insert AFTER INSERT ON job WHEN new.ended = 1
BEGIN
    UPDATE rollup_block SET upto_ns = 0
    WHERE upto_ns > new.end_ns AND first_ns IN (new.end_ns - new.end_ns % 691200000000000,
                                                new.end_ns - new.end_ns % 2764800000000000);
END;
CREATE TRIGGER rollup_update AFTER UPDATE ON job
WHEN (old.ended = 1 OR new.ended = 1) AND EXISTS (
    SELECT 1 FROM rollup_block WHERE upto_ns > old.end_ns AND first_ns IN
        (old.end_ns - old.end_ns % 691200000000000,
         old.end_ns - old.end_ns % 2764800000000000)
    UNION ALL
    SELECT 1 FROM rollup_block WHERE upto_ns > new.end_ns AND first_ns IN
        (new.end_ns - new.end_ns % 691200000000000,
         new.end_ns - new.end_ns % 2764800000000000))
BEGIN
    UPDATE rollup_block SET upto_ns = 0
    WHERE upto_ns > old.end_ns AND first_ns IN (old.end_ns - old.end_ns % 691200000000000,
                                                old.end_ns - old.end_ns % 2764800000000000);
    UPDATE rollup_block SET upto_ns = 0
    WHERE upto_ns > new.end_ns AND first_ns IN (new.end_ns - new.end_ns % 691200000000000,
                                                new.end_ns - new.end_ns % 2764800000000000);
END;
CREATE TRIGGER rollup_delete AFTER DELETE ON job WHEN old.ended = 1 AND old.expired = 0
BEGIN
    UPDATE rollup_block SET upto_ns = 0
    WHERE upto_ns > old.end_ns AND first_ns IN (old.end_ns - old.end_ns % 691200000000000,
                                                old.end_ns - old.end_ns % 2764800000000000);
END;
