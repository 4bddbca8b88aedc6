/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/tracer.h"

#include <stdlib.h>

#include "collector/probe/spans.h"
#include "collector/trace/keeper.h"
#include "collector/trace/processes.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

struct tracer {
    struct probe *probe;
    struct span_keeper *keeper;
    struct trace_processes *processes;
    uint32_t step, slot;
    uint64_t due_ns; /* the end of the interval */
    bool more;       /* there are spans to read */
};

void tracer_destroy(struct tracer *tracer)
{
    if (!tracer)
        return;
    span_keeper_destroy(tracer->keeper);
    trace_processes_destroy(tracer->processes);
    free(tracer);
}
DEFINE_CLEANUP(struct tracer, tracer_destroy)

int tracer_create(struct tracer **ret, struct probe *probe, const struct trace_limits *limits,
                  struct error *error)
{
    CLEANUP(tracer_destroyp) struct tracer *tracer = calloc(1, sizeof(*tracer));

    if (tracer) {
        tracer->probe = probe;
        tracer->keeper = span_keeper_create(limits->per_second, limits->in_all);
        tracer->processes = trace_processes_create("/proc");
    }
    if (!tracer || !tracer->keeper || !tracer->processes)
        return error_errno(error, -ENOMEM, "trace the command");
    *ret = TAKE_PTR(tracer);
    return 0;
}

int tracer_start(struct tracer *tracer, uint32_t step, uint64_t cgroup_id, int cgroup_version,
                 struct error *error)
{
    tracer->step = step;
    tracer->due_ns = clock_ns(CLOCK_MONOTONIC) + NS_PER_S;
    return probe_trace(tracer->probe, cgroup_id, cgroup_version, &tracer->slot, error);
}

int tracer_fd(const struct tracer *tracer)
{
    return tracer ? probe_spans_fd(tracer->probe) : -1;
}

uint64_t tracer_due(const struct tracer *tracer)
{
    if (!tracer)
        return UINT64_MAX;
    return tracer->more ? 0 : tracer->due_ns;
}

static void on_span(uint32_t step, const struct span *span, const char *comm, void *arg)
{
    struct tracer *tracer = arg;

    if (step != tracer->step)
        return;
    trace_processes_see(tracer->processes, span->pid, span->tid, comm);
    span_keeper_add(tracer->keeper, span);
}

/* The limit of an interval ends before the last spans of the interval are read, so that no span of
 * the next one is left out by it. */
int tracer_read(struct tracer *tracer, struct error *error)
{
    bool turn;
    int r;

    if (!tracer)
        return 0;
    turn = clock_ns(CLOCK_MONOTONIC) >= tracer->due_ns;
    if (turn)
        probe_trace_set_least(tracer->probe, tracer->slot, 0);
    r = probe_spans(tracer->probe, on_span, tracer, error);
    tracer->more = r > 0;
    if (turn) {
        span_keeper_turn(tracer->keeper);
        tracer->due_ns = clock_ns(CLOCK_MONOTONIC) + NS_PER_S;
    }
    probe_trace_set_least(tracer->probe, tracer->slot, span_keeper_least_ns(tracer->keeper));
    return r < 0 ? r : 0;
}

static void add_left_out(struct trace_left_out *to, const struct trace_left_out *from)
{
    for (int kind = 0; kind < SPAN_KINDS; kind++) {
        add_saturating(&to->shorter[kind], from->shorter[kind]);
        add_saturating(&to->overflow[kind], from->overflow[kind]);
    }
}

int tracer_finish(struct tracer *tracer, struct trace *ret, struct error *error)
{
    struct trace_left_out left_out;
    int r = tracer_read(tracer, error);

    if (r < 0)
        return r;
    span_keeper_finish(tracer->keeper, ret);
    left_out = probe_trace_left_out(tracer->probe, tracer->slot);
    add_left_out(&ret->left_out, &left_out);
    ret->real_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    r = trace_processes_finish(tracer->processes, ret);
    return r < 0 ? error_errno(error, r, "trace the command") : 0;
}
