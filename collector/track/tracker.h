/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which jobs and steps run on this node, what they did so far, and what of it the store has.
 * Everything here runs on the loop's thread; what goes to disk goes through the writer.
 */
#ifndef JOBIO_COLLECTOR_TRACK_TRACKER_H
#define JOBIO_COLLECTOR_TRACK_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/track/tag.h"
#include "common/error.h"
#include "common/job.h"
#include "common/log.h"

struct hierarchy;
struct probe;
struct sampler;
struct store;
struct tracker;
struct writer;

/* Beyond this many steps of one job on a node, further ones are one row. */
#define TRACKER_STEPS_PER_JOB 1000

struct tracker_hooks {
    /* The job is over on this node; called before its last row is handed to the writer. The
     * account is good until the call returns. */
    void (*job_over)(const struct job_account *job, void *arg);
    void (*say)(enum log_level level, const char *text, void *arg);
    /* Rows for the sinks are in the store's outbox, for good; may be NULL. */
    void (*queued)(void *arg);
    void *arg;
};

/* All but the strings (copied; not those of `sinks`) must outlive the tracker. */
struct tracker_options {
    const char *cluster, *node;
    const char *runtime_dir; /* steps/ and jobs/ lie in it */
    uint64_t interval_ns;
    uint64_t drop_gap_ns; /* between two passes that forget counters: each holds up the caller */
    uint64_t rows_ns;     /* between two provisional rows of a running step, at least an interval */
    bool peers; /* what a job does here goes to its first node, too, as the sink of that name */
    const char *const *sinks; /* each gets every final step: store_outbox_put(); NULL-terminated,
                               * may be NULL */
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
};

int tracker_create(struct tracker **ret, const struct tracker_options *options,
                   const struct tracker_hooks *hooks, struct error *error);
void tracker_destroy(struct tracker *tracker); /* NULL is fine */

/* Take over what an earlier process left: unfinished jobs of the store, step files, pinned maps.
 * Before tracker_attach(). Steps that the maps have and no file names are dropped and said. */
int tracker_adopt(struct tracker *tracker, struct store *store, struct error *error);
/* From now on rows go to this writer. */
void tracker_attach(struct tracker *tracker, struct writer *writer);

/* Count the step from now on. Idempotent. -ENOENT, -ESTALE: no such cgroup. */
int tracker_tag(struct tracker *tracker, const struct tag *tag, struct error *error);
/* The last task of the step has ended here. */
void tracker_task_exit(struct tracker *tracker, const struct job_key *key, uint32_t het,
                       uint32_t step);
/* unknown: it has not begun here, or ended so long ago that more than 200 others have ended
 * since. */
enum tracker_progress { TRACKER_UNKNOWN, TRACKER_BUSY, TRACKER_DONE };
/* What the tasks of the step do here. */
enum tracker_progress tracker_progress(struct tracker *tracker, const struct job_key *key,
                                       uint32_t het, uint32_t step);
/* The step has ended (ended_boot_ns by CLOCK_BOOTTIME, 0: just now): read it for the last time,
 * hand it to the writer. A step that only its file knows is adopted first. -ENOENT: nobody knows
 * it. */
int tracker_end(struct tracker *tracker, uint32_t jobid, uint32_t restart, uint32_t het,
                uint32_t step, uint64_t ended_boot_ns, struct error *error);
/* What Slurm's prolog says of the job; NULL: not known. */
int tracker_describe(struct tracker *tracker, uint32_t jobid, const char *user, const char *account,
                     const char *partition, struct error *error);
/* The job is over on this node, all its restarts. 0 also for a job that nobody knows. */
int tracker_job_end(struct tracker *tracker, uint32_t jobid, struct error *error);

/* A step file has appeared. Its .end is looked at by the next tick: the END that comes with it is
 * faster, if it comes. Call tracker_settle() after the last of them. */
void tracker_file(struct tracker *tracker, const char *name);
/* After files that have appeared, and after outcomes of the writer: what many steps need that have
 * ended is done in one pass over the maps. Returns in how many ns to call it again, whatever
 * happens until then; 0: no need. */
uint64_t tracker_settle(struct tracker *tracker);

/* Every interval: a reading of all steps, provisional rows if they are due, steps that vanished,
 * rows that could not be written before. */
int tracker_tick(struct tracker *tracker, struct error *error);
/* The next tick writes provisional rows, however old the last ones are. */
void tracker_hurry(struct tracker *tracker);

/* The job with its running steps in `steps`. -ENOENT. fresh: all that was done before this call is
 * in it; else it may share the reading of a report that was asked a moment ago, which has all of
 * the steps that have ended. */
int tracker_report(struct tracker *tracker, uint32_t jobid, uint32_t restart, bool fresh,
                   struct job_account **ret, struct error *error);
/* The same for all restarts that are active (jobid 0: for all jobs), at most a second old.
 * NULL-terminated, free with store_jobs_free(). */
int tracker_jobs(struct tracker *tracker, uint32_t jobid, struct job_account ***ret,
                 struct error *error);
/* The same for a task of an array, by their numbers. */
int tracker_task_jobs(struct tracker *tracker, uint32_t array, uint32_t task,
                      struct job_account ***ret, struct error *error);

/* The nodes of a job, with commas between; NULL: it has no others than this one, or is not known.
 * Good until the loop runs on. */
const char *tracker_nodes(struct tracker *tracker, const struct job_key *key);
/* That node asks for the whole of the job: it is its first one, if no prolog has told which is.
 * What has ended here goes there, too. */
void tracker_gathered_by(struct tracker *tracker, const struct job_key *key, const char *node);
/* The batch step of the job runs here. */
bool tracker_has_batch(struct tracker *tracker, const struct job_key *key);
/* A job that runs here, or whose last rows are on their way to the store. */
bool tracker_knows(struct tracker *tracker, const struct job_key *key);

/* All steps of this node since the store was made, ended and running; private mounts summed by
 * type. Clear with io_mounts_clear(). */
int tracker_totals(struct tracker *tracker, struct io_mounts *ret);

/* The job of the running step that this process is in, by its cgroup v2 path or by the freezer's;
 * 0: none. */
uint32_t tracker_covers(struct tracker *tracker, pid_t pid, const char *path);

/* Bring the counters up to date, unless the last reading is young enough: at most max_age_ns, and
 * in any case so young that readings take a twentieth of the time, however often this is asked. */
int tracker_refresh(struct tracker *tracker, uint64_t max_age_ns, struct error *error);
/* When that was, CLOCK_BOOTTIME; 0: never. */
uint64_t tracker_read_at(const struct tracker *tracker);
struct top_reading;
/* What each job that is active has done as of the last reading, and all of them (report/top/top.h).
 */
int tracker_top(struct tracker *tracker, struct top_reading *ret, struct error *error);

/* Living tasks of a step by its number in the maps, as sampler_tasks_f. */
size_t tracker_tasks(struct tracker *tracker, uint32_t number, uint32_t *pids, size_t max);

struct tracker_stats {
    size_t jobs, steps; /* active; running */
    size_t unsaved;     /* steps that have ended and are not in the store yet */
    uint64_t lost;      /* events of all steps since the start of the process */
    uint64_t vanished, untracked, save_failures;
};
void tracker_stats(const struct tracker *tracker, struct tracker_stats *ret);

#endif
