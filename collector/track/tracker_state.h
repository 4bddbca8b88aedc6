/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a tracker, shared by the modules of this room. */
#ifndef JOBIO_COLLECTOR_TRACK_TRACKER_STATE_H
#define JOBIO_COLLECTOR_TRACK_TRACKER_STATE_H

#include <sys/queue.h>

#include "collector/trace/directory.h"
#include "collector/track/job.h"
#include "collector/track/options.h"
#include "collector/track/recent_steps.h"
#include "collector/track/untagged.h"

struct block_probe;
struct folded_marks;
struct mpi_watcher;
struct stack_watcher;
struct stacks_ended;
struct tracer;
struct users;
struct writer;

/* Times are CLOCK_BOOTTIME. */
struct tracker {
    char *cluster, *node;         /* owned */
    char plugin[TAG_PLUGIN_SIZE]; /* see struct tracker_stats */
    uint64_t interval_ns;
    int steps_fd, jobs_fd; /* the directories steps/ and jobs/ */
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
    struct mpi_watcher *mpi; /* owned; NULL: no MPI-IO is counted */
    bool all_mpi;
    struct block_probe *block;     /* owned; NULL: no requests to disks are counted */
    struct tracer *tracer;         /* owned; NULL: no step is traced */
    struct trace_directory traces; /* its path is owned */
    uint64_t traces_kept, traces_failed, traces_undelivered;
    size_t trace_bytes_waiting;   /* of spans, for the writer */
    struct stack_watcher *stacks; /* owned; NULL: no stacks are recorded */
    bool all_stacks;
    LIST_HEAD(, stacks_ended) stacks_ended; /* owned; their profiles have yet to be stored */
    uint64_t stacks_kept, stacks_failed;
    struct error mpi_failure;   /* why no MPI-IO can be counted, as it was logged; "": it can */
    struct error block_failure; /* why no requests to disks can be counted; "": they are, or are not
                                 * wanted */
    int growth;                 /* probe_growth() at the last tick */
    struct users *users;        /* of users that no prolog has reported */
    struct writer *writer;      /* NULL: rows have to wait */
    struct tracker_hooks hooks;
    const char *const *sinks;
    bool peers;
    struct jobs jobs;
    struct recent_steps recent;
    struct untagged untagged;
    struct io_mounts totals;                     /* of ended steps */
    uint64_t lost;                               /* events of ended steps */
    uint64_t vanished, untracked, save_failures; /* see struct tracker_stats */
    uint64_t read_at_ns, read_cost_ns;           /* the last reading of all steps */
    uint64_t partial_since_ns, partial_cost_ns;  /* readings of some steps since then */
    uint64_t drop_gap_ns, dropped_ns;            /* the last drop of counters; 0: never */
    bool dropping;                               /* the writer's thread waits for one */
    uint64_t rows_ns, rows_due_ns; /* all jobs need provisional rows as of this reading */
    bool sweep_due;                /* a step was dropped after the last sweep of the maps */
    unsigned ticks_since_sweep;
    uint64_t jobs_swept_ns;     /* the last sweep of the files in jobs/ */
    uint64_t traces_swept_ns;   /* the same of traces/ */
    struct folded_marks *marks; /* of aggregated steps whose counters have yet to go */
    char *missed;               /* owned: sampler_missed() as last handed to the writer */
};

void tracker_log(struct tracker *tracker, enum log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Readings of some steps take at most 1/TRACKER_READ_SHARE of the time, then all are read. */
#define TRACKER_READ_SHARE 4

/* Read the counters of all steps now. tick: the end of an interval. */
int tracker_read(struct tracker *tracker, bool tick, struct error *error);
/* Read the steps for which this returns true, if there are any. All others too if that is fast, or
 * if such readings are frequent, so that steps that end at once share a reading. Otherwise a job
 * with many mounts would delay the steps of others. */
typedef bool (*tracker_wanted_f)(const struct step *step, const void *arg);
int tracker_read_steps(struct tracker *tracker, tracker_wanted_f is_wanted, const void *arg,
                       struct error *error);

#endif
