/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The jobs and steps of this node: from the tag of a step to its final account in the store. All
 * functions run on the loop's thread; rows go to disk through the writer.
 */
#ifndef JOBIO_COLLECTOR_TRACK_TRACKER_H
#define JOBIO_COLLECTOR_TRACK_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/track/job.h"
#include "collector/track/options.h"
#include "collector/track/tag.h"
#include "common/error.h"
#include "common/job.h"

struct store;
struct tracker;
struct writer;

int tracker_create(struct tracker **ret, const struct tracker_options *options,
                   const struct tracker_hooks *hooks, struct error *error);
void tracker_destroy(struct tracker *tracker); /* NULL is fine */

/* Restore what the last process left: unfinished jobs of the store, step files, pinned maps. Call
 * it before tracker_attach(). Counters without a step file are dropped and logged. */
int tracker_adopt(struct tracker *tracker, struct store *store, struct error *error);
/* From now on, rows go to this writer; NULL: to none. */
void tracker_attach(struct tracker *tracker, struct writer *writer);

/* Count the step from now on. Idempotent. -ENOENT, -ESTALE: there is no such cgroup. */
int tracker_tag(struct tracker *tracker, const struct tag *tag, struct error *error);
/* The last task of the step on this node has ended. */
void tracker_task_exit(struct tracker *tracker, const struct job_key *key, uint32_t het,
                       uint32_t step);
/* TRACKER_UNKNOWN: the step has not started here, or more than 200 steps have ended since it did.
 */
enum tracker_progress { TRACKER_UNKNOWN, TRACKER_BUSY, TRACKER_DONE };
/* Whether tasks of the step still run on this node. */
enum tracker_progress tracker_progress(struct tracker *tracker, const struct job_key *key,
                                       uint32_t het, uint32_t step);
/* The step has ended (ended_boot_ns: CLOCK_BOOTTIME; 0: just now): read it for the last time and
 * hand it to the writer. A step that only has a file is adopted first. -ENOENT: unknown step. */
int tracker_end(struct tracker *tracker, uint32_t jobid, uint32_t restart, uint32_t het,
                uint32_t step, uint64_t ended_boot_ns, struct error *error);
/* What Slurm's prolog reports about the job; NULL: not known. */
void tracker_describe(struct tracker *tracker, uint32_t jobid, const char *user,
                      const char *account, const char *partition);
/* All runs of the job are over on this node. 0 also for an unknown job. */
int tracker_job_end(struct tracker *tracker, uint32_t jobid, struct error *error);

/* A step file has appeared. Its .end file is left to the next tick, since an END message may be on
 * its way. Call tracker_settle() after the last file. */
void tracker_file(struct tracker *tracker, const char *name);
/* Call it after files have appeared and after the writer has reported results: work that many ended
 * steps share is done in one pass over the maps. Returns after how many ns to call it again in any
 * case; 0: no need. */
uint64_t tracker_settle(struct tracker *tracker);

/* Every interval: read all steps, write provisional rows if they are due, find steps that vanished,
 * retry rows that could not be written. */
int tracker_tick(struct tracker *tracker, struct error *error);
/* The next tick writes provisional rows of all jobs. */
void tracker_make_rows_due(struct tracker *tracker);

/* The job with its steps. -ENOENT. fresh: everything up to this call is included; else it may share
 * the reading of another report of a moment ago, which has all steps that have ended. */
int tracker_report(struct tracker *tracker, uint32_t jobid, uint32_t restart, bool fresh,
                   struct job_account **ret, struct error *error);
/* All runs of the job (jobid 0: of all jobs) that are active, or over but not yet in the store, at
 * most a second old, or older while readings would take more than 5 % of the time. uid: only jobs
 * of this user, UINT32_MAX: of all; other jobs are neither read nor copied. NULL-terminated, free
 * with store_jobs_free(). */
int tracker_jobs(struct tracker *tracker, uint32_t jobid, uint32_t uid, struct job_account ***ret,
                 struct error *error);
/* The same for a task of an array. */
int tracker_task_jobs(struct tracker *tracker, uint32_t array, uint32_t task, uint32_t uid,
                      struct job_account ***ret, struct error *error);

/* The nodes of a job, separated by commas; NULL: it has only this one, or is not known. Valid until
 * the loop continues. */
const char *tracker_nodes(struct tracker *tracker, const struct job_key *key);
/* Whether `node` is one of the nodes of the job, as its prolog reported them. 1: yes; 0: no; -1:
 * they are not known. */
int tracker_has_node(struct tracker *tracker, const struct job_key *key, const char *node);
/* Add nodes to those of the job, separated by commas: it was expanded. */
void tracker_add_nodes(struct tracker *tracker, const struct job_key *key, const char *nodes);
/* Set the job's first node, which collects its account, unless the prolog has reported the nodes.
 * Steps that have ended here are queued for it, too. */
void tracker_set_first_node(struct tracker *tracker, const struct job_key *key, const char *node);
/* The batch step of the job runs here. */
bool tracker_has_batch(struct tracker *tracker, const struct job_key *key);
/* The job runs here, or its last rows are on their way to the store. */
bool tracker_knows(struct tracker *tracker, const struct job_key *key);

/* All steps of this node since the store was made, ended and running; private mounts are added up
 * by type. Clear with io_mounts_clear(). */
int tracker_totals(struct tracker *tracker, struct io_mounts *ret);

/* Set *jobid to the job whose running step contains this process, by its cgroup v2 path or by the
 * freezer's; 0: none. On error it is unknown whether there is one. */
int tracker_covers(struct tracker *tracker, pid_t pid, const char *path, uint32_t *jobid,
                   struct error *error);

/* Read the counters, unless the last reading is at most max_age_ns old or so young that readings
 * would take more than 5 % of the time, however often this is called. */
int tracker_refresh(struct tracker *tracker, uint64_t max_age_ns, struct error *error);
/* The time of the last reading, CLOCK_BOOTTIME; 0: never. */
uint64_t tracker_read_at(const struct tracker *tracker);
struct top_reading;
/* Each active job and the sum of all as of the last reading (report/top/top.h). */
int tracker_top(struct tracker *tracker, struct top_reading *ret, struct error *error);

/* The live tasks of a step by its number in the maps, as sampler_tasks_f. */
size_t tracker_tasks(struct tracker *tracker, uint32_t number, uint32_t *pids, size_t max);

struct tracker_stats {
    size_t jobs, steps; /* active; running */
    size_t unsaved;     /* steps that have ended, but are not in the store yet */
    uint64_t lost;      /* events of all steps since the start of the process */
    uint64_t vanished, untracked, save_failures;
    size_t untagged;              /* steps of Slurm that run and are not counted: untagged.h */
    const char *untagged_example; /* the cgroup of one of them; until the next tick */
    const char *plugin; /* the version of the plugin, from the last tracker_tag(); "": unknown */
};
void tracker_stats(const struct tracker *tracker, struct tracker_stats *ret);

/* The spans of traced steps: a descriptor (-1: no step is traced); when it is readable, or it is
 * this time (CLOCK_MONOTONIC; UINT64_MAX: none), call tracker_traces_read(). */
int tracker_traces_fd(const struct tracker *tracker);
uint64_t tracker_traces_due(const struct tracker *tracker);
int tracker_traces_read(struct tracker *tracker, struct error *error);

/* The same for stacks; also call tracker_stacks_work() every few seconds. */
int tracker_stacks_fd(const struct tracker *tracker);
int tracker_stacks_work(struct tracker *tracker, struct error *error);
struct tracker_stacks {
    size_t steps;          /* that are recorded, or whose names are looked up */
    uint64_t kept, failed; /* profiles of steps */
};
void tracker_stacks_state(const struct tracker *tracker, struct tracker_stacks *ret);

struct tracker_traces {
    bool allowed;
    const char *path;      /* of the directory */
    size_t steps;          /* that are traced now */
    uint64_t kept, failed; /* of ended steps since the start of the process; steps without a trace
                            * that wanted one */
    uint64_t undelivered;  /* removed before they were delivered, since the start */
};
void tracker_traces_state(const struct tracker *tracker, struct tracker_traces *ret);

/* Why the requests to disks are not counted although they are wanted; NULL: they are. */
const char *tracker_block_failure(const struct tracker *tracker);

struct mpi_watcher_state;
/* How MPI-IO is counted; all 0 if it is not. */
void tracker_mpi_state(const struct tracker *tracker, struct mpi_watcher_state *ret);

#endif
