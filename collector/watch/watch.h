/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts one command without jobiod: BPF programs, a cgroup and the sampler. Needs root. */
#ifndef JOBIO_COLLECTOR_WATCH_WATCH_H
#define JOBIO_COLLECTOR_WATCH_WATCH_H

#include <stdint.h>
#include <sys/types.h>

#include "collector/stacks/recorder.h"
#include "collector/trace/tracer.h"
#include "common/error.h"
#include "common/job.h"
#include "common/stack.h"

struct watch;

struct watch_options {
    uint64_t interval_ns;              /* of the readings that find the peaks */
    const struct trace_limits *limits; /* of the trace; NULL: there is none */
    enum trace_of trace_of;
    bool trace_paths;
    const struct stack_limits *stacks; /* NULL: no stacks are recorded */
};

/* Load the programs and make the cgroup. Errors of probe_create(), cgroup_create() and
 * stack_recorder_create(). */
int watch_create(struct watch **ret, const struct watch_options *options, struct error *error);
/* Count MPI-IO, too, from the start of the command on. Fork its process before: this may raise the
 * limit of descriptors. Errors of mpi_probe_create(). */
int watch_add_mpi(struct watch *watch, struct error *error);
/* Count block requests, too. Errors of block_probe_create(). */
int watch_add_block(struct watch *watch, struct error *error);
/* Stop counting: release remaining processes and remove the cgroup. Errors of cgroup_remove(). */
int watch_leave(struct watch *watch, struct error *error);
/* Unloads and cleans up. NULL is fine. */
void watch_destroy(struct watch *watch);

/* Returns whether the programs of a run that ended before that time (CLOCK_MONOTONIC) are still
 * being detached. Start the command later, so that it is counted exactly. */
bool watch_is_detaching(uint64_t before_ns);

/* Count this process and its children from now on. Once. Fork the process before: stacks raise the
 * limit of descriptors. */
int watch_start(struct watch *watch, pid_t pid, struct error *error);

/* Read the counters when they are due until `other_fd` is readable. */
int watch_wait(struct watch *watch, int other_fd, struct error *error);

/* The command has ended: the last reading, into the sums of *job (mounts, completeness, elapsed
 * time, waits, unsupported, MPI, block requests). Processes that still run are the cause
 * "still-running". */
int watch_end(struct watch *watch, struct job_account *job, struct error *error);

/* After that, if there is a trace: fill this empty one. */
int watch_trace(struct watch *watch, struct trace *ret, struct error *error);
/* The same for stacks. */
int watch_stacks(struct watch *watch, struct stack_profile *ret, struct error *error);

#endif
