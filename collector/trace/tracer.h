/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces one step: takes what the probe reports of it, and keeps the slowest spans. */
#ifndef JOBIO_COLLECTOR_TRACE_TRACER_H
#define JOBIO_COLLECTOR_TRACE_TRACER_H

#include "collector/probe/probe.h"
#include "common/error.h"
#include "common/trace.h"

struct tracer;

/* The spans that are kept, at most. */
struct trace_limits {
    uint32_t per_second, in_all;
};

/* The probe must stay, and must be able to trace (probe_options.spans). */
int tracer_create(struct tracer **ret, struct probe *probe, const struct trace_limits *limits,
                  struct error *error);
void tracer_destroy(struct tracer *tracer); /* NULL is fine */

/* Trace this step of the probe from now on. Once. Errors of probe_trace(). */
int tracer_start(struct tracer *tracer, uint32_t step, uint64_t cgroup_id, int cgroup_version,
                 struct error *error);

/* A descriptor; when it is readable, or it is this time (CLOCK_MONOTONIC), call tracer_read(). Both
 * accept NULL: -1 and UINT64_MAX. */
int tracer_fd(const struct tracer *tracer);
uint64_t tracer_due(const struct tracer *tracer);
/* NULL is fine. */
int tracer_read(struct tracer *tracer, struct error *error);

/* The step has ended: read the rest, and fill the empty trace, whose names of mounts are not set.
 */
int tracer_finish(struct tracer *tracer, struct trace *ret, struct error *error);

#endif
