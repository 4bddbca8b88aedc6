-- SPDX-License-Identifier: GPL-2.0-or-later
-- The store of one node: what each job step did on each mount, by operation.
--
-- Read it with `sqlite3 -readonly /var/lib/jobio/jobio.db`; the views at the end are for people. Only
-- jobiod writes.
--
-- Times and durations are nanoseconds: *_ns is a duration, *_at_ns (and start_ns, end_ns) is wall clock
-- time since 1970. Sizes are bytes. A number above 2^63 - 1 is stored as 2^63 - 1.
-- PRAGMA user_version is the version of this schema: 11.

-- One job on this node. A requeued job has a row for each restart. A job number that was used again (after
-- a reset of the cluster) has a row for each holder.
CREATE TABLE job (
    id INTEGER PRIMARY KEY,
    cluster TEXT NOT NULL,
    jobid INTEGER NOT NULL,
    restart INTEGER NOT NULL,
    holder INTEGER NOT NULL,          -- 0, 1, ... in order of start
    uid INTEGER NOT NULL,
    user TEXT,                        -- NULL: unknown
    account TEXT,
    partition TEXT,
    name TEXT,                        -- untrusted text from the user
    ended INTEGER NOT NULL,           -- 1: no step of the job runs here any more
    start_ns INTEGER NOT NULL,
    end_ns INTEGER NOT NULL,          -- 2^63 - 1 until it has ended
    elapsed_ns INTEGER NOT NULL,
    nodes_expected INTEGER NOT NULL,  -- of the whole job; 0: unknown
    nodes_reported INTEGER NOT NULL,
    longest_wait_ns INTEGER NOT NULL, -- time inside calls of the thread that waited longest
    lost INTEGER NOT NULL,            -- events seen but not accounted, excluding those of its steps
    incomplete TEXT,                  -- why it is incomplete: [{"cause":"..","count":N,"ops":[..]}]
    unsupported TEXT,                 -- operations that the node could not count: ["clone",..]
    ns_per_event INTEGER NOT NULL DEFAULT 0, -- cost of counting one call on the node; 0: unknown
    expired INTEGER NOT NULL DEFAULT 0, -- 1: its rows are being deleted, ignore it
    -- Sums over its steps, updated with every write of a step, so that the history needs no other
    -- table. read and write include copied bytes, meta all other calls.
    steps INTEGER NOT NULL DEFAULT 0,
    steps_incomplete INTEGER NOT NULL DEFAULT 0, -- steps with lost events or a cause
    read_requests INTEGER NOT NULL DEFAULT 0,
    read_bytes INTEGER NOT NULL DEFAULT 0,
    read_errors INTEGER NOT NULL DEFAULT 0,
    read_time_ns INTEGER NOT NULL DEFAULT 0,
    read_max_ns INTEGER NOT NULL DEFAULT 0,
    write_requests INTEGER NOT NULL DEFAULT 0,
    write_bytes INTEGER NOT NULL DEFAULT 0,
    write_errors INTEGER NOT NULL DEFAULT 0,
    write_time_ns INTEGER NOT NULL DEFAULT 0,
    write_max_ns INTEGER NOT NULL DEFAULT 0,
    meta_requests INTEGER NOT NULL DEFAULT 0,
    meta_errors INTEGER NOT NULL DEFAULT 0,
    meta_time_ns INTEGER NOT NULL DEFAULT 0,
    meta_max_ns INTEGER NOT NULL DEFAULT 0,
    errors INTEGER NOT NULL DEFAULT 0,           -- of all operations
    wait_ns INTEGER NOT NULL DEFAULT 0,          -- of all threads in all synchronous calls
    unsupported_elsewhere TEXT, -- like unsupported, for its other nodes; on its first node only
    first_node TEXT, -- where the accounts of all its nodes are combined; NULL: here, or unknown
    array_job INTEGER,  -- the number of its array; NULL: not a task
    array_task INTEGER, -- the number of the task
    latency_counted INTEGER NOT NULL DEFAULT 0, -- the day under which it is in latency_day; 0: none
    slurm_state TEXT,    -- how it ended: COMPLETED, FAILED, ...; NULL: not known
    exit_code INTEGER,   -- NULL: not known
    exit_signal INTEGER,
    UNIQUE (cluster, jobid, restart, holder)
);
CREATE INDEX job_number ON job (jobid, start_ns);
CREATE INDEX job_end ON job (end_ns DESC);           -- retention
-- For the history: newest first, by common conditions. A period finds the jobs that ended in it by their
-- start, which is earlier by at most the longest run (job_long; otherwise a day), and running jobs by
-- job_running.
CREATE INDEX job_start ON job (start_ns, end_ns);
CREATE INDEX job_uid_start ON job (uid, start_ns);
CREATE INDEX job_user_start ON job (user, start_ns);
CREATE INDEX job_account_start ON job (account, start_ns);
CREATE INDEX job_name_start ON job (name, start_ns);
CREATE INDEX job_running ON job (start_ns) WHERE ended = 0;
CREATE INDEX job_long ON job (end_ns - start_ns)
    WHERE ended = 1 AND end_ns - start_ns > 86400000000000;
CREATE INDEX job_array ON job (array_job, array_task) WHERE array_job IS NOT NULL;
CREATE INDEX job_expired ON job (id) WHERE expired = 1;

-- One step of a job on one node. Special steps: 4294967292 extern, 4294967291 batch, 4294967290
-- interactive, 4294967279 the sum of all steps beyond the first 1,000 of the job on this node.
CREATE TABLE step (
    id INTEGER PRIMARY KEY,
    job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    het INTEGER NOT NULL,             -- component of a heterogeneous job; 4294967294: not one
    step INTEGER NOT NULL,
    node TEXT NOT NULL,
    tagged_at_ns INTEGER NOT NULL,    -- when counting started, by the clock of the node
    elapsed_ns INTEGER NOT NULL,
    state TEXT NOT NULL,              -- running, ended, vanished (its end was not reported)
    folded INTEGER NOT NULL,          -- how many steps this row aggregates; 0: a single step
    final INTEGER NOT NULL,           -- 1: its numbers are final, and in node_total
    longest_wait_ns INTEGER NOT NULL,
    lost INTEGER NOT NULL,
    incomplete TEXT,
    read_requests INTEGER NOT NULL,   -- sums over mounts and operations, as in job
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
    -- NULL: its MPI-IO was not counted; '[]': all of it was; otherwise what is missing in `mpi`, as in
    -- `incomplete`
    mpi_incomplete TEXT,
    -- NULL: its requests to disks were not counted; else 1: some are missing from the table block
    block_incomplete INTEGER,
    block_shared_at_most INTEGER,     -- 1: other steps may have counted the same shared ones
    UNIQUE (job_id, het, step, node, tagged_at_ns)
);

-- A mounted file system, identified by its names.
CREATE TABLE mount (
    id INTEGER PRIMARY KEY,
    mount TEXT NOT NULL,              -- mount point
    fstype TEXT NOT NULL,
    source TEXT NOT NULL,
    private INTEGER NOT NULL,         -- 1: only visible in the mount namespace of jobs
    labelled INTEGER NOT NULL,        -- 1: its name may be a label of a metric
    UNIQUE (mount, fstype, source, private, labelled)
);

-- A step used a mount. The numbers of the page cache and of readers and writers belong to the pair, not
-- to an operation.
CREATE TABLE step_mount (
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    mount_id INTEGER NOT NULL REFERENCES mount (id),
    cache_hit_bytes INTEGER NOT NULL,
    cache_miss_bytes INTEGER NOT NULL,
    fill_read_bytes INTEGER NOT NULL,
    fill_fault_bytes INTEGER NOT NULL,
    fill_prefetch_bytes INTEGER NOT NULL,
    fill_write_bytes INTEGER NOT NULL,
    -- NULL: unknown, or nobody read (copied, mapped) from it; writers likewise
    readers INTEGER,                  -- processes that read
    reader_threads INTEGER,           -- their threads that read
    readers_at_least INTEGER,         -- 1: the two numbers are lower bounds
    writers INTEGER,
    writer_threads INTEGER,
    writers_at_least INTEGER,
    -- NULL: not NFS, or its requests were not counted; else 1: some are missing from the table rpc
    rpc_incomplete INTEGER,
    rpc_shared_at_most INTEGER,       -- 1: other steps may have counted the same shared ones
    PRIMARY KEY (step_id, mount_id)
) WITHOUT ROWID;
CREATE INDEX step_mount_mount ON step_mount (mount_id);

-- The account: what a step did on a mount, by operation (read, write, open, stat, ...).
-- Histograms are JSON arrays of counts without trailing zeros. size_log2[0] counts sizes up to
-- 1 byte, [i] those above 2^(i-1) and up to 2^i; latency_log2[0] counts calls up to 128 ns, [i]
-- those above 2^(i+6) and up to 2^(i+7) ns. errno is a JSON object {"errno number": count}.
-- Text costs about as much as a blob of varints here (most arrays are short) and json_each() of
-- SQLite reads it.
CREATE TABLE io (
    step_id INTEGER NOT NULL,
    mount_id INTEGER NOT NULL,
    op TEXT NOT NULL,
    requests INTEGER NOT NULL,
    async_requests INTEGER NOT NULL,  -- of these through io_uring and libaio: no thread waited
    bytes INTEGER NOT NULL,           -- returned, not requested
    errors INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,         -- inside synchronous calls
    max_ns INTEGER NOT NULL,          -- longest call, at least
    peak_bytes_per_s INTEGER NOT NULL,    -- in the busiest interval
    peak_requests_per_s INTEGER NOT NULL,
    size_log2 TEXT,                   -- NULL: empty
    latency_log2 TEXT,
    errno TEXT,
    -- Reads and writes that started where the previous one on the same open file had ended, and those
    -- that did not. The remaining requests are of unknown order.
    sequential_requests INTEGER NOT NULL DEFAULT 0,
    random_requests INTEGER NOT NULL DEFAULT 0,
    -- Of time_ns: the kernel held up the writer until dirty pages were written.
    throttled_ns INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (step_id, mount_id, op),
    FOREIGN KEY (step_id, mount_id) REFERENCES step_mount (step_id, mount_id) ON DELETE CASCADE
) WITHOUT ROWID;

-- The time line of a step on a mount, in at most 200 bins. Bin i (from 0) covers width_s seconds from
-- start_s + i * width_s, seconds since 1970; width_s is a power of two and start_s a multiple of it.
-- The texts are JSON arrays without trailing zeros, and each adds up to the sums in `io`: the bytes
-- of read and copy_read, of write and copy_write, the requests of all metadata operations but create,
-- the time of all operations. longest_wait_ns is not a part of them: it is the longest wait of one
-- thread in each slice of 4.3 s, added up over the slices of the bin, each of which may be of another
-- thread. For example: SELECT datetime(start_s + key * width_s, 'unixepoch',
-- 'localtime'), value FROM timeline, json_each(read_bytes) WHERE step_id = 1 AND value > 0;
CREATE TABLE timeline (
    step_id INTEGER NOT NULL,
    mount_id INTEGER NOT NULL,
    start_s INTEGER NOT NULL,
    width_s INTEGER NOT NULL,
    read_bytes TEXT,                  -- NULL: nothing
    write_bytes TEXT,
    meta_requests TEXT,
    wait_ns TEXT,
    longest_wait_ns TEXT,             -- NULL: unknown
    PRIMARY KEY (step_id, mount_id),
    FOREIGN KEY (step_id, mount_id) REFERENCES step_mount (step_id, mount_id) ON DELETE CASCADE
);

-- The requests (RPCs) of the NFS client, by class of procedure (read, write, getattr, ...; doc/json.md has
-- the list).
CREATE TABLE rpc (
    step_id INTEGER NOT NULL,
    mount_id INTEGER NOT NULL,
    shared INTEGER NOT NULL,          -- 1: submitted by kernel threads, for any process on the mount
    class TEXT NOT NULL,
    calls INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    retransmissions INTEGER NOT NULL,
    sent_bytes INTEGER NOT NULL,      -- with the headers of the messages, like received_bytes
    received_bytes INTEGER NOT NULL,
    queued_ns INTEGER NOT NULL,       -- until they were sent
    server_ns INTEGER NOT NULL,       -- from then until the reply
    time_ns INTEGER NOT NULL,         -- from their start to their end
    PRIMARY KEY (step_id, mount_id, shared, class),
    FOREIGN KEY (step_id, mount_id) REFERENCES step_mount (step_id, mount_id) ON DELETE CASCADE
) WITHOUT ROWID;

-- The calls of MPI-IO of a step, by class of functions (read, read_all, write, write_all, open, ...;
-- doc/json.md has the list). Histograms as in `io`.
CREATE TABLE mpi (
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    class TEXT NOT NULL,
    calls INTEGER NOT NULL,           -- of each process: a collective call of 16 processes is 16
    errors INTEGER NOT NULL,          -- failed calls; they have no bytes
    time_ns INTEGER NOT NULL,         -- inside the functions
    bytes INTEGER NOT NULL,           -- that the status of the calls reported
    requested_bytes INTEGER NOT NULL, -- of calls without a status; reads may have got less
    unknown_calls INTEGER NOT NULL,   -- calls whose bytes are in neither
    size_log2 TEXT,                   -- of both kinds of bytes; NULL: empty
    latency_log2 TEXT,
    PRIMARY KEY (step_id, class)
) WITHOUT ROWID;

-- The requests to disks of a step, by class (read, write, discard, flush).
CREATE TABLE block (
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    device TEXT NOT NULL,             -- the name of the disk: "sda"
    shared INTEGER NOT NULL,          -- 1: submitted by kernel threads, for any process of the node
    class TEXT NOT NULL,
    requests INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    queued_ns INTEGER NOT NULL,      -- until the driver got them
    device_ns INTEGER NOT NULL,      -- from then until their end
    latency_log2 TEXT,                -- of device_ns, as in `io`
    PRIMARY KEY (step_id, device, shared, class)
) WITHOUT ROWID;

-- Which code of a step waited: its calls that took long. Only of steps whose stacks were recorded.
CREATE TABLE stack_profile (
    step_id INTEGER PRIMARY KEY REFERENCES step (id) ON DELETE CASCADE,
    least_ns INTEGER NOT NULL,   -- calls from this time on are long
    calls INTEGER NOT NULL,                -- all long calls
    time_ns INTEGER NOT NULL,
    unsampled_calls INTEGER NOT NULL,   -- of these: without a stack, because of the limit per second
    unsampled_ns INTEGER NOT NULL,
    lost_calls INTEGER NOT NULL,        -- because they came too fast
    lost_ns INTEGER NOT NULL,
    failed_calls INTEGER NOT NULL,      -- because the process that unwinds failed
    failed_ns INTEGER NOT NULL,
    other_calls INTEGER NOT NULL,       -- with further stacks, which are not in the table stack
    other_ns INTEGER NOT NULL,
    truncated_calls INTEGER NOT NULL,   -- of those with a stack: without the outer functions
    truncated_ns INTEGER NOT NULL,
    unread_calls INTEGER NOT NULL,      -- of those with a stack: the process had ended before it was read
    unread_ns INTEGER NOT NULL
);
-- The stacks with the most time, at most 100 a step. A function without a name is [file+0xaddress]<tab>build id.
CREATE TABLE stack (
    step_id INTEGER NOT NULL REFERENCES stack_profile (step_id) ON DELETE CASCADE,
    number INTEGER NOT NULL,         -- 0: the one with the most time
    stack TEXT NOT NULL,          -- thread;function<tab>file;... from the outermost function on
    calls INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    PRIMARY KEY (step_id, number)
) WITHOUT ROWID;

-- The busiest interval of a whole job: not the sum of those of its steps.
CREATE TABLE peak (
    job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    mount_id INTEGER NOT NULL REFERENCES mount (id),
    op TEXT NOT NULL,
    bytes_per_s INTEGER NOT NULL,
    requests_per_s INTEGER NOT NULL,
    PRIMARY KEY (job_id, mount_id, op)
) WITHOUT ROWID;
CREATE INDEX peak_mount ON peak (mount_id);

-- Sums over the steps of a job on a mount, updated like those of the job, for the history of a mount.
-- mount_id is not a foreign key: a mount may be deleted before the last row of a job that is being deleted,
-- and the index for a foreign key would cost more than it is worth.
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

-- Totals of all finished steps of this node since the store was created; retention does not reduce them.
-- Mounts that may not be a label of a metric are summed under "(private)".
CREATE TABLE node_total (
    mount TEXT NOT NULL,
    fstype TEXT NOT NULL,
    labelled INTEGER NOT NULL,
    op TEXT NOT NULL,
    requests INTEGER NOT NULL,
    async_requests INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    errors INTEGER NOT NULL,
    time_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    PRIMARY KEY (mount, fstype, labelled, op)
) WITHOUT ROWID;

-- The baseline of a mount: how many of the jobs that ended on a day (UTC, days since 1970) had which
-- median latency. The median of a job is over its nodes, once all of them have reported or an hour has
-- passed. Kept for 30 days. Excludes jobs with fewer than 10 such calls on the mount, and mounts of a job's
-- own namespace.
CREATE TABLE latency_day (
    mount_id INTEGER NOT NULL REFERENCES mount (id),
    op TEXT NOT NULL,                 -- read, write, open
    day INTEGER NOT NULL,
    median_ns INTEGER NOT NULL,       -- upper bound of its bucket, as in io.latency_log2
    jobs INTEGER NOT NULL,
    PRIMARY KEY (mount_id, op, day, median_ns)
) WITHOUT ROWID;
CREATE INDEX latency_day_day ON latency_day (day);

-- Finished steps of this node that a sink (the history database, another node) has not acknowledged yet, in
-- the order in which they are sent. A step that changes after its end moves to the end. Ids are never
-- reused.
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    sink TEXT NOT NULL,               -- history, peer:NODE
    step_id INTEGER NOT NULL REFERENCES step (id) ON DELETE CASCADE,
    queued_ns INTEGER NOT NULL,
    refused TEXT,                     -- NULL: to be sent; otherwise why the sink refuses it
    UNIQUE (sink, step_id)
);
CREATE INDEX outbox_waiting ON outbox (sink, id) WHERE refused IS NULL;
CREATE INDEX outbox_step ON outbox (step_id);

-- The other nodes of a job that have sent everything they had of it. Only on the first node of the job,
-- which also has their steps.
CREATE TABLE job_node (
    job_id INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    node TEXT NOT NULL,
    PRIMARY KEY (job_id, node)
) WITHOUT ROWID;

-- What jobiod remembers across a restart, by keys of its own (for example the progress of a sink).
CREATE TABLE state (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- Sums for the history over past days in a large store, so that it need not read each job. A block has the
-- jobs that ended from first_ns on and before upto_ns; jobiod makes it in the background. A change of such
-- a job invalidates the block (by the triggers), and it is rebuilt later.
CREATE TABLE rollup_block (
    first_ns INTEGER NOT NULL,        -- the block: a multiple of its days, UTC
    days INTEGER NOT NULL,
    upto_ns INTEGER NOT NULL,         -- 0: the block is out of date and not used
    last_start_ns INTEGER NOT NULL,   -- the latest start of a job in it
    PRIMARY KEY (first_ns, days)
) WITHOUT ROWID;
CREATE TABLE rollup (
    kind INTEGER NOT NULL,            -- 1 by user, account, partition; 2 name; 3 start; 4, 5, 6: the same on a mount
    first_ns INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    user NOT NULL,                    -- the number 0: NULL, or not of this kind
    account NOT NULL,
    partition NOT NULL,
    name NOT NULL,
    quarter INTEGER NOT NULL,         -- the start of a job, in quarters of an hour since 1970
    mount NOT NULL,
    jobs INTEGER NOT NULL,
    complete INTEGER NOT NULL,        -- 1: all jobs are complete
    start_ns INTEGER NOT NULL,        -- the first
    end_ns INTEGER NOT NULL,          -- the last
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
-- The EXISTS costs less than an UPDATE that matches nothing.
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

-- Jobs in readable units, newest first.
CREATE VIEW v_job AS
SELECT cluster, jobid, restart, user, uid, account, partition, name,
       CASE ended WHEN 1 THEN 'ended' ELSE 'running' END AS state,
       datetime(start_ns / 1000000000, 'unixepoch', 'localtime') AS start,
       CASE ended WHEN 1 THEN datetime(end_ns / 1000000000, 'unixepoch', 'localtime') END AS "end",
       elapsed_ns / 1e9 AS elapsed_s, steps,
       lost = 0 AND incomplete IS NULL AND steps_incomplete = 0
           AND nodes_expected > 0 AND nodes_reported >= nodes_expected AS complete,
       read_bytes, read_requests, write_bytes, write_requests, meta_requests, errors,
       wait_ns / 1e9 AS wait_s,
       CASE WHEN elapsed_ns > 0
            THEN min(100.0, round(100.0 * longest_wait_ns / elapsed_ns, 1)) END AS waiting_percent,
       slurm_state, exit_code, exit_signal
FROM job
WHERE expired = 0
ORDER BY start_ns DESC;

-- Steps by name, with their job.
CREATE VIEW v_step AS
SELECT j.cluster, j.jobid, j.restart, j.user, s.id AS step_id,
       CASE s.het WHEN 4294967294 THEN NULL ELSE s.het END AS het,
       CASE s.step WHEN 4294967292 THEN 'extern' WHEN 4294967291 THEN 'batch'
                   WHEN 4294967290 THEN 'interactive' WHEN 4294967279 THEN 'folded'
                   ELSE CAST(s.step AS TEXT) END AS step,
       s.node, s.state,
       datetime(s.tagged_at_ns / 1000000000, 'unixepoch', 'localtime') AS start,
       s.elapsed_ns / 1e9 AS elapsed_s, s.lost, s.incomplete,
       s.read_bytes, s.read_requests, s.write_bytes, s.write_requests, s.meta_requests, s.errors,
       s.wait_ns / 1e9 AS wait_s
FROM step AS s JOIN job AS j ON j.id = s.job_id
WHERE j.expired = 0;

-- What each step did on each mount, by operation.
CREATE VIEW v_step_io AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node,
       m.mount, m.fstype, m.source, i.op, i.requests, i.bytes, i.errors,
       i.time_ns / 1e9 AS wait_s, i.max_ns / 1e9 AS longest_s,
       i.peak_bytes_per_s, i.peak_requests_per_s
FROM io AS i
JOIN v_step AS s ON s.step_id = i.step_id
JOIN mount AS m ON m.id = i.mount_id;

-- The same as sums over the job.
CREATE VIEW v_job_io AS
SELECT j.cluster, j.jobid, j.restart, j.user, m.mount, m.fstype, m.source, i.op,
       sum(i.requests) AS requests, sum(i.bytes) AS bytes, sum(i.errors) AS errors,
       sum(i.time_ns) / 1e9 AS wait_s, max(i.max_ns) / 1e9 AS longest_s
FROM job AS j
JOIN step AS s ON s.job_id = j.id
JOIN io AS i ON i.step_id = s.id
JOIN mount AS m ON m.id = i.mount_id
WHERE j.expired = 0
GROUP BY j.id, m.id, i.op;

-- One row per job and mount.
CREATE VIEW v_job_mount AS
SELECT j.cluster, j.jobid, j.restart, j.user, m.mount, m.fstype, m.source,
       sum(CASE WHEN i.op IN ('read', 'copy_read') THEN i.bytes END) AS read_bytes,
       sum(CASE WHEN i.op IN ('write', 'copy_write') THEN i.bytes END) AS write_bytes,
       sum(i.requests) AS requests, sum(i.errors) AS errors, sum(i.time_ns) / 1e9 AS wait_s
FROM job AS j
JOIN step AS s ON s.job_id = j.id
JOIN io AS i ON i.step_id = s.id
JOIN mount AS m ON m.id = i.mount_id
WHERE j.expired = 0
GROUP BY j.id, m.id;

-- The calls of MPI-IO of each step, by class. `incomplete` as in step.mpi_incomplete.
CREATE VIEW v_step_mpi AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node, m.class, m.calls, m.errors,
       m.bytes, m.requested_bytes, m.unknown_calls, m.time_ns / 1e9 AS time_s,
       t.mpi_incomplete AS incomplete
FROM mpi AS m
JOIN step AS t ON t.id = m.step_id
JOIN v_step AS s ON s.step_id = m.step_id;

-- The same as sums over the job. complete = 0: something is missing in the MPI-IO of a step,
-- or a node has not reported.
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

-- The requests to disks of each step, by device and class.
CREATE VIEW v_step_block AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node, b.device, b.shared, b.class,
       b.requests, b.errors, b.bytes, b.queued_ns / 1e9 AS queued_s, b.device_ns / 1e9 AS device_s,
       t.block_incomplete AS incomplete
FROM block AS b
JOIN step AS t ON t.id = b.step_id
JOIN v_step AS s ON s.step_id = b.step_id;

-- The stacks of each step, with the functions that waited.
CREATE VIEW v_step_stack AS
SELECT s.cluster, s.jobid, s.restart, s.user, s.het, s.step, s.node, k.number, k.stack, k.calls,
       k.time_ns / 1e9 AS time_s
FROM stack AS k
JOIN v_step AS s ON s.step_id = k.step_id;
