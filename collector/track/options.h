/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Options of tracker_create(). */
#ifndef JOBIO_COLLECTOR_TRACK_OPTIONS_H
#define JOBIO_COLLECTOR_TRACK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/probe/stacks.h"
#include "collector/trace/directory.h"
#include "collector/trace/tracer.h"
#include "common/job.h"
#include "common/log.h"

struct hierarchy;
struct probe;
struct sampler;
struct tracker_hooks {
    /* The job is over on this node. Called before its last row is handed to the writer; the account
     * is valid during the call. */
    void (*job_over)(const struct job_account *job, void *arg);
    void (*log)(enum log_level level, const char *text, void *arg); /* may be NULL */
    /* Rows for the sinks are committed to the store's outbox; may be NULL. */
    void (*queued)(void *arg);
    /* During tracker_adopt(): follow what else an earlier process has put into the maps, before the
     * counters of unknown cgroups are dropped; may be NULL. */
    void (*adopt)(void *arg);
    /* The trace of a step is in its directory; may be NULL. */
    void (*traced)(void *arg);
    void *arg;
};

/* The strings are copied, those of `sinks` are not. All else must outlive the tracker. */
struct tracker_options {
    const char *cluster, *node;
    const char *runtime_dir; /* the parent of steps/ and jobs/ */
    const char *state_dir;   /* the parent of traces/; NULL: no step is traced */
    uint64_t interval_ns;
    uint64_t drop_gap_ns; /* between two passes that drop counters */
    uint64_t rows_ns;     /* between two provisional rows of a running step, at least interval_ns */
    bool peers; /* also queue the rows of a job for its first node, as the sink of that name */
    const char *const *sinks; /* each gets every final step: store_outbox_put(); NULL-terminated,
                               * may be NULL */
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
    bool traces; /* steps whose tag wants it are traced */
    struct trace_limits trace_limits;
    struct trace_directory trace_directory; /* without its path */
    bool stacks, all_stacks; /* record the stacks of steps whose tag wants it; of all steps */
    struct stack_limits stack_limits;
    bool block;        /* count the requests to disks of all steps */
    bool mpi, all_mpi; /* count the MPI-IO of steps whose tag wants it; of all steps */
};

#endif
