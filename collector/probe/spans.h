/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Single requests and MPI-IO calls of traced steps, as the programs report them. */
#ifndef JOBIO_COLLECTOR_PROBE_SPANS_H
#define JOBIO_COLLECTOR_PROBE_SPANS_H

#include "collector/probe/probe.h"
#include "common/error.h"
#include "common/trace.h"

/* Report the requests and calls of MPI-IO of a step of this probe from now on, or only the latter;
 * those of running tasks from their next one on. paths: with those of the opens. Stores the slot of
 * its trace in *ret. The probe must have been created with probe_options.spans. -ENOTSUP: it was
 * not, the programs of an earlier process are in use, which cannot trace, or it is blind; -ENOSPC:
 * too many traces; -ENOENT: another layout counts the step.
 */
int probe_trace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, enum trace_of of,
                bool paths, uint32_t *ret, struct error *error);
/* Stop that, and free the slot for another step: as late as possible, because a call that is in
 * progress may still use it. */
void probe_untrace(struct probe *probe, uint64_t cgroup_id, int cgroup_version, uint32_t slot);
/* The programs leave out what took less than this. */
void probe_trace_set_least(struct probe *probe, uint32_t slot, uint64_t least_ns);
/* What they have left out so far: of this step, and of all that had the slot before. */
struct trace_left_out probe_trace_left_out(const struct probe *probe, uint32_t slot);
/* The same for what they have reported, read or not. */
void probe_trace_reported(const struct probe *probe, uint32_t slot, uint64_t ret[SPAN_KINDS]);

/* A descriptor that is readable when there is much to read, or a program has opened a file; -1: the
 * probe cannot trace. */
int probe_spans_fd(const struct probe *probe);
/* Pass on what was reported since the last call, at most `max` spans; returns 1 if there may be
 * more. comm: name of the thread, TRACE_COMM bytes. The name of the mount is not set; a path is
 * valid during the call. */
typedef void (*probe_span_f)(uint32_t step, const struct span *span, const char *comm, void *arg);
int probe_spans(struct probe *probe, uint32_t max, probe_span_f each, void *arg,
                struct error *error);
/* More than there is room for in the ring buffer: all that were reported before the call. */
#define PROBE_SPANS_ALL 65536

#endif
