/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces steps: takes what the probe reports of them, and keeps the slowest spans of each. */
#ifndef JOBIO_COLLECTOR_TRACE_TRACER_H
#define JOBIO_COLLECTOR_TRACE_TRACER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/probe/probe.h"
#include "common/error.h"
#include "common/trace.h"

struct tracer;

/* The spans of a step that are kept, at most. */
struct trace_limits {
    uint32_t per_second, in_all;
    bool wait_for_ranks; /* read them on the calling thread: it waits for faults of processes */
};

/* The probe must stay. It must be able to trace (probe_options.spans) for tracer_start(). */
int tracer_create(struct tracer **ret, struct probe *probe, const struct trace_limits *limits,
                  struct error *error);
void tracer_destroy(struct tracer *tracer); /* NULL is fine */

/* Steps that can be traced at once: their spans are in memory. */
#define TRACER_STEPS 64
#define TRACER_USER_STEPS 16 /* of one user, so that others have traces, too */
struct tracer_step {
    uint32_t number; /* of the probe */
    uid_t uid;
    uint64_t cgroup_id;
    int cgroup_version;
    enum trace_of of;
    bool paths; /* of the opens, too */
};
/* Trace the step from now on. Errors of probe_trace(); -ENOSPC: too many. */
int tracer_start(struct tracer *tracer, const struct tracer_step *step, struct error *error);
bool tracer_has(const struct tracer *tracer, uint32_t step);
/* Number of steps that are traced. NULL is fine: 0. */
size_t tracer_steps(const struct tracer *tracer);

/* A descriptor; when it is readable, or it is this time (CLOCK_MONOTONIC), call tracer_read().
 * UINT64_MAX: no step is traced. Both accept NULL: -1 and UINT64_MAX. */
int tracer_fd(const struct tracer *tracer);
uint64_t tracer_due(const struct tracer *tracer);
/* NULL is fine. */
int tracer_read(struct tracer *tracer, struct error *error);

/* The step has ended: read the rest, and fill the empty trace, whose names of mounts are not set.
 * The step is not traced any more, also after an error. */
int tracer_finish(struct tracer *tracer, uint32_t step, struct trace *ret, struct error *error);

#endif
