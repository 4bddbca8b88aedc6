/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The node's history in an SQLite database. The whole system has one read-write connection, used
 * on one thread; readers open the database read-only. Schema in sql/schema.sql.
 */
#ifndef JOBIO_COLLECTOR_STORE_STORE_H
#define JOBIO_COLLECTOR_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"
#include "common/job.h"

struct store;

struct store_options {
    const char *path;    /* the database file; its directory must exist */
    uint64_t keep_ns;    /* drop jobs that ended longer ago; 0: never */
    uint64_t keep_bytes; /* drop jobs above this size (store_sweep); 0: never */
    const char *node;    /* steps of other nodes are neither in this node's totals nor in an outbox;
                          * NULL: all steps are its own */
};

/* Open read-write; create or migrate the schema. Never overwrites an existing file. Errors:
 * -EMEDIUMTYPE: not a database, one of another program, or a corrupt one; -EROFS or -EACCES: the
 * file or its directory is not writable; -ENOSPC; -EPROTONOSUPPORT: written by a newer version;
 * -EOPNOTSUPP: on a network file system, where WAL is not safe; -EISDIR; -ELOOP: a symbolic link;
 * -ENOENT: no directory; -EBUSY: another process has it open for writing. */
int store_open(struct store **ret, const struct store_options *options, struct error *error);
/* What store_open() would find. */
struct store_check {
    bool exists;
    int64_t version; /* of its tables */
    int newest;      /* store_open() updates the tables to this version */
};
/* Check whether store_open() could use the file, without writing to it or its directory, with or
 * without a running writer. Errors as of store_open(). */
int store_check(const char *path, struct store_check *ret, struct error *error);
/* Whether such an error lasts until an admin does something. A full disk, for example, may pass. */
bool store_error_lasts(int r);
/* Open read-only, with or without a running writer. */
int store_open_reader(struct store **ret, const char *path, struct error *error);
void store_close(struct store *store); /* accepts NULL */
/* Every later call fails with -ETIMEDOUT once this time, counted from now, has passed; 0: no limit.
 */
void store_limit(struct store *store, unsigned ms);

/* Start and end one transaction around several of the writes below; without it, each write is a
 * final transaction of its own. A `final` transaction is on disk (synchronous=FULL) when
 * store_commit returns; any other survives a crash of the process, but perhaps not of the machine.
 * If store_begin or store_commit fails, everything since store_begin is rolled back and the caller
 * still owns its data. A failed write undoes only itself and the transaction continues, except
 * after -ENOSPC, -EIO and -EMEDIUMTYPE: then store_commit fails as well. */
int store_begin(struct store *store, bool final, struct error *error);
int store_commit(struct store *store, struct error *error);
void store_rollback(struct store *store);

/* Store a job without its steps: identity, times, state, its own completeness (without that of its
 * steps), and from its mounts the job's peaks. Replaces the stored job with the same key, but keeps
 * its first node and array if the new ones are unknown, and how Slurm ended it. A job that starts
 * (start_ns) after the end of a stored, ended one of the same key is another holder of the number:
 * both are kept. So start_ns of one job must never move to after its end. */
int store_put_job(struct store *store, const struct job_account *job, struct error *error);
/* Store the account of a step; `final` is false for a running step. Replaces the same step (same
 * node, het, step, tagged_at). -ENOENT: its job was never put. The node's totals include a final
 * step exactly once, even if it is written again: they change by the difference. A final step stays
 * final. STEP_FOLDED grows in this way: put the sum of all folded steps that have ended (never of
 * running ones) under one unchanged tagged_at. The totals exclude steps of other nodes. */
int store_put_step(struct store *store, const struct job_key *key, const struct step_account *step,
                   bool final, struct error *error);

/* Store which code of the step waited, once its row is stored. Neither changes the other. Replaces
 * an earlier profile. -ENOENT: the step is not stored. */
int store_put_stacks(struct store *store, const struct job_key *key,
                     const struct step_account *step, const struct stack_profile *profile,
                     struct error *error);

/* The number of requests in the stored final row of this step; 0: no such row. */
int store_step_requests(struct store *store, const struct job_key *key,
                        const struct step_account *step, uint64_t *ret, struct error *error);
/* Record that `node`, which is not the store's own, has sent its complete part of the job and is no
 * longer missing. -ENOENT: the job was never put. */
int store_put_node(struct store *store, const struct job_key *key, const char *node,
                   struct error *error);

/* On the first node: upsert a job reported by another node, because it may never run here. Until
 * this node has a step of the job, end and elapsed are the maxima of all reports. Its steps are not
 * touched. */
int store_put_elsewhere(struct store *store, const struct job_account *job, struct error *error);
/* Record that another node of the job could not count these operations (bit 1 << io_op);
 * store_jobs() reports them. -ENOENT: the job was never put. */
int store_put_unsupported(struct store *store, const struct job_key *key, uint64_t ops,
                          struct error *error);

/* Store how Slurm ended the job. store_put_job() keeps it, whatever it is given. -ENOENT: the job
 * was never put, or has not ended in the store. */
int store_put_slurm_end(struct store *store, const struct job_key *key, const struct slurm_end *end,
                        struct error *error);
/* Call `each` for the jobs that ended after `since_ns` and have no such end, newest first, without
 * those that have another first node. A non-zero return stops the iteration; it is not an error. */
typedef int (*store_key_f)(const struct job_key *key, void *arg);
int store_each_stateless(struct store *store, uint64_t since_ns, store_key_f each, void *arg,
                         struct error *error);

/* The job with its steps, the newest (restart, or holder of the number) first; NULL-terminated
 * array, free with store_jobs_free(). cluster NULL: any. all false: only the newest. A uid other
 * than UINT32_MAX hides the jobs of others. An unknown job gives an empty array and is not an
 * error. */
int store_jobs(struct store *store, const char *cluster, uint32_t jobid, bool all, uint32_t uid,
               struct job_account ***ret, struct error *error);
/* The same, but only the newest `limit` of them. */
int store_newest_jobs(struct store *store, const char *cluster, uint32_t jobid, uint32_t limit,
                      uint32_t uid, struct job_account ***ret, struct error *error);
/* The same for a task of an array, by their numbers. */
int store_task_jobs(struct store *store, const char *cluster, uint32_t array, uint32_t task,
                    uint32_t limit, uint32_t uid, struct job_account ***ret, struct error *error);
/* The newest run of each task of an array from task `from` on, with its steps, ordered by task. If
 * the array number was used again, only tasks of the last user. The store owns the account, which
 * is valid until `each` returns. A non-zero return of `each` stops the iteration and is returned.
 */
typedef int (*store_job_f)(const struct job_account *job, void *arg);
int store_array(struct store *store, uint32_t array, uint32_t uid, uint32_t from, store_job_f each,
                void *arg, struct error *error);
/* All jobs of that number, with the steps and sums of `node` only. */
int store_node_jobs(struct store *store, const char *cluster, uint32_t jobid, const char *node,
                    struct job_account ***ret, struct error *error);
void store_jobs_free(struct job_account **jobs);

/* The jobs that had not ended when they were last written, with the steps of the store's own node.
 * Called after a restart. */
int store_unfinished(struct store *store, struct job_account ***ret, struct error *error);

/* One line of `jobio history`: a job, or a group of jobs. The store owns the strings, which are
 * valid until `each` returns. */
struct history_row {
    const char *cluster, *user, *account, *partition, *name;
    const char *mount; /* the sums are those of these mounts, comma-separated; NULL: of all */
    const char *day;   /* of a group by day: YYYY-MM-DD */
    uint64_t jobs;     /* of a group; 0: it is one job */
    uint32_t jobid, restart, uid;
    uint32_t array_job, array_task; /* array_job 0: not an array task */
    bool ended, complete;
    struct slurm_end slurm;
    uint64_t start_ns, end_ns, elapsed_ns;
    uint32_t steps;
    struct io_sum reads, writes, meta;
    uint64_t errors, wait_ns;
    /* For a mount: its share of that of the job, by wait. For a group: 0. */
    uint64_t longest_wait_ns;
};

enum history_sort {
    HISTORY_TIME,
    HISTORY_READ,
    HISTORY_WRITE,
    HISTORY_META,
    HISTORY_WAIT,
    HISTORY_ERRORS,
    HISTORY_ELAPSED,
    HISTORY_JOBS, /* groups only */
};

enum history_group {
    HISTORY_NO_GROUP,
    HISTORY_BY_USER,
    HISTORY_BY_ACCOUNT,
    HISTORY_BY_PARTITION,
    HISTORY_BY_NAME,
    HISTORY_BY_MOUNT, /* a job counts in each of its mounts, with what it did there */
    HISTORY_BY_DAY,   /* on which it started, local time */
};

enum history_state { HISTORY_ANY, HISTORY_RUNNING, HISTORY_ENDED };

struct history_filter {
    uint32_t uid; /* UINT32_MAX: all */
    /* Comma-separated lists, NULL: all. "\," is a comma and "\\" a backslash in an item. A number
     * for a user is a uid. */
    const char *user, *account, *partition, *name;
    const char *mount; /* jobs that touched one of these, and what they did there */
    const char *jobs;  /* jobs, arrays and tasks: words of history_job_parse() */
    const char *nodes; /* jobs with a step on one of these */
    uint64_t since_ns; /* jobs that ran at any time in [since, until); until 0: open */
    uint64_t until_ns;
    enum history_state state;
    /* Ended jobs in one of these states, 1 << slurm_state: 0: all. Bit 0: its state is not known.
     * Running jobs depend only on `state`. */
    uint32_t slurm_states;
    enum history_group group;
    enum history_sort sort;
    bool reverse;   /* smallest or oldest first */
    uint32_t limit; /* 0: no limit */
};

/* Call `each` for each job, with the sums over its steps, or for each group; newest or largest
 * first. A non-zero return of `each` stops the iteration and is returned. -EINVAL: a malformed
 * list. */
typedef int (*history_f)(const struct history_row *row, void *arg);
int store_history(struct store *store, const struct history_filter *filter, history_f each,
                  void *arg, struct error *error);

/* Add the latencies of an ended job to the baselines of its mounts. All its steps of this node must
 * be stored. A second call does nothing. A job on several nodes is added when all nodes have
 * reported (store_put_node) or after an hour; a later account replaces the earlier one. -ENOENT: no
 * such job has ended. */
int store_put_baseline(struct store *store, const struct job_key *key, struct error *error);

/* The baseline of a mount (mount point, type, source) without the job `but` (NULL: of all jobs), so
 * that no job is compared with itself. Private mounts have none. The cost does not depend on the
 * number of jobs. */
int store_mount_baseline(struct store *store, const struct io_mount *mount,
                         const struct job_key *but, uint64_t now_ns, struct mount_baseline *ret,
                         struct error *error);
/* Fill in the baselines of all mounts of a job, without the job itself, as of its end. store_jobs()
 * does so already. */
int store_fill_baseline(struct store *store, struct job_account *job, struct error *error);
/* All mounts that have a baseline, with empty accounts. Clear *ret with io_mounts_clear(). */
int store_baselines(struct store *store, uint64_t now_ns, struct io_mounts *ret,
                    struct error *error);

/* The node's totals of all finished steps since the store was made: mounts by (mount, fstype),
 * labelled ones by name, the rest as "(private)" (private, not labelled). Counters only: no
 * histograms, errnos or peaks. Fills *ret (clear it with io_mounts_clear). */
int store_node_totals(struct store *store, struct io_mounts *ret, struct error *error);

/* Small texts that outlive the process (delivery state). A NULL value removes the key. get: *ret is
 * malloc'd, NULL if the key does not exist. */
int store_put_state(struct store *store, const char *key, const char *value, struct error *error);
int store_get_state(struct store *store, const char *key, char **ret, struct error *error);
/* Remove all texts whose key has the prefix. */
int store_drop_states(struct store *store, const char *prefix, struct error *error);
/* Call `each` for all texts whose key has the prefix, ordered by key. A non-zero return of `each`
 * stops the iteration and is returned. */
typedef int (*store_state_f)(const char *key, const char *value, void *arg);
int store_each_state(struct store *store, const char *prefix, store_state_f each, void *arg,
                     struct error *error);

/* --- outbox: rows not yet delivered ------------------------------------------------------------
 */

/* Queue a stored final step for a sink, at the end. A step that is queued already, or that the sink
 * refused, moves to the end. A step of another node is not queued. -ENOENT: the step is not
 * stored. */
int store_outbox_put(struct store *store, const struct job_key *key,
                     const struct step_account *step, const char *sink, struct error *error);
/* The same for one (any) final step of the job on this node: its row reports changes of the job
 * itself, such as its end. Does nothing if there is no such step. */
int store_outbox_put_job(struct store *store, const struct job_key *key, const char *sink,
                         struct error *error);

/* The same for all final steps of the job on this node; a job that is not stored has none. */
int store_outbox_put_all(struct store *store, const struct job_key *key, const char *sink,
                         struct error *error);

/* Read the rows queued for the sink, ordered by id, from the first above `after_id`, at most `max`.
 * The account is that of store_put_job() (own completeness, in its mounts only the job's peaks)
 * with exactly one step; it is valid until `each` returns. A non-zero return of `each` stops the
 * iteration and is returned. Ids grow and are never reused: a step that is queued again has a new
 * one. */
typedef int (*store_outbox_f)(int64_t id, const struct job_account *job, void *arg);
int store_outbox_read(struct store *store, const char *sink, int64_t after_id, uint32_t max,
                      store_outbox_f each, void *arg, struct error *error);
/* Is another step of the same job queued for the sink after this one, or was one refused? */
int store_outbox_more(struct store *store, int64_t id, bool *ret, struct error *error);
/* Remove rows that the sink has. Ids that do not exist any more are ignored. */
int store_outbox_drop(struct store *store, const int64_t *ids, size_t n, struct error *error);
/* Mark a row that the sink refuses: it stays, with the reason, but is not sent. */
int store_outbox_refuse(struct store *store, int64_t id, const char *why, struct error *error);
/* Queue all rows again that the sink refused. This function and the next also accept a pattern:
 * "peer:*". */
int store_outbox_retry(struct store *store, const char *sink, struct error *error);
/* Remove all rows of the sink. */
int store_outbox_forget(struct store *store, const char *sink, struct error *error);

struct outbox_stats {
    uint64_t waiting, refused;
    uint64_t oldest_ns; /* when the oldest queued row was queued; 0: none is queued */
    uint64_t given_up;  /* since the store was created: retention removed them before delivery */
};
int store_outbox_stats(struct store *store, const char *sink, struct outbox_stats *ret,
                       struct error *error);
/* Call `each` for the sinks that have queued rows. A non-zero return stops the iteration and is
 * returned. */
int store_outbox_sinks(struct store *store, int (*each)(const char *sink, void *arg), void *arg,
                       struct error *error);

/* One small step of retention, outside a transaction: at most a few hundred rows and pages. It
 * deletes only ended jobs. By age: oldest end first, and keeps jobs with rows queued for a sink. By
 * size: the oldest jobs of the users that have at least half as much as the user with the most,
 * queued or not; it keeps jobs that ended within the last hour, unless the store is full. If these
 * users have no ended job, it deletes the jobs of others only above one and a half of keep_bytes
 * (at least 2 MiB more). Undelivered and refused rows that it deletes are counted as given up. The
 * node's totals stay. *more: call again soon; otherwise, a WAL that had become long was restarted,
 * waiting up to 5 s for its readers. */
int store_sweep(struct store *store, uint64_t now_ns, bool *more, struct error *error);
/* Number of jobs that were deleted within an hour of their end, since store_open(). */
uint64_t store_deleted_early(const struct store *store);

/* 1: the database has a quarter (at least 1 MiB) more than keep_bytes. The steps of users with
 * large shares are then stored as one row of "(other mounts)". Call store_sweep until it is 0. */
int store_is_full(struct store *store, struct error *error);

struct store_stats {
    uint64_t jobs, steps;
    uint64_t bytes;     /* the database file; its WAL comes on top (16 MiB at rest) */
    uint64_t oldest_ns; /* end of the oldest ended job; 0: none */
};
int store_stats(struct store *store, struct store_stats *ret, struct error *error);

#endif
