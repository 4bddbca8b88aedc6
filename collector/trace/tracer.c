/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/trace/tracer.h"

#include <stdlib.h>
#include <sys/queue.h>

#include "collector/probe/spans.h"
#include "collector/trace/keeper.h"
#include "collector/trace/processes.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* They take some milliseconds, in which jobiod does nothing else. */
#define SPANS_OF_A_READ 8192

/* A step. */
struct traced {
    LIST_ENTRY(traced) link;
    struct span_keeper *keeper;
    struct trace_processes *processes;
    struct rank_reader *reader; /* NULL: none */
    struct tracer_step step;
    uint32_t slot;
    struct trace_left_out before; /* of the steps that had the slot */
    uint64_t reported_before[SPAN_KINDS], read[SPAN_KINDS];
};

/* A reader that ends when it can. */
struct stopped {
    LIST_ENTRY(stopped) link;
    struct rank_reader *reader;
    uid_t uid;
};

struct tracer {
    struct probe *probe;
    struct trace_limits limits;
    LIST_HEAD(, traced) steps;
    LIST_HEAD(, stopped) stopped;
    size_t n;
    struct traced *last; /* of the last span */
    uint64_t due_ns;     /* the end of the interval */
    bool more;           /* there are spans to read */
};

/* --- readers ---------------------------------------------------------------------------------- */

/* Forget the readers that have ended; wait_ns: for each. */
static void join_readers(struct tracer *tracer, uint64_t wait_ns)
{
    struct stopped *stopped = LIST_FIRST(&tracer->stopped), *next;

    for (; stopped; stopped = next) {
        next = LIST_NEXT(stopped, link);
        if (!rank_reader_join(stopped->reader, wait_ns))
            continue;
        LIST_REMOVE(stopped, link);
        free(stopped);
    }
}

/* The processes of a user may hold up this number of readers of ended steps; then their later steps
 * have none. */
#define STOPPED_OF_USER 4

static struct rank_reader *start_reader(struct tracer *tracer, uid_t uid)
{
    const struct stopped *stopped;
    size_t of_user = 0;

    join_readers(tracer, 0);
    LIST_FOREACH (stopped, &tracer->stopped, link) {
        of_user += stopped->uid == uid;
    }
    return of_user < STOPPED_OF_USER ? rank_reader_start("/proc") : NULL;
}

/* Without memory to remember it, its thread and memory are lost. */
static void stop_reader(struct tracer *tracer, struct traced *traced)
{
    struct stopped *stopped = traced->reader ? calloc(1, sizeof(*stopped)) : NULL;

    rank_reader_stop(traced->reader);
    if (!stopped)
        return;
    *stopped = (struct stopped){.reader = traced->reader, .uid = traced->step.uid};
    LIST_INSERT_HEAD(&tracer->stopped, stopped, link);
}

/* --- steps ------------------------------------------------------------------------------------ */

static void traced_destroy(struct traced *traced)
{
    if (!traced)
        return;
    span_keeper_destroy(traced->keeper);
    trace_processes_destroy(traced->processes);
    free(traced);
}
DEFINE_CLEANUP(struct traced, traced_destroy)

static void remove_step(struct tracer *tracer, struct traced *traced)
{
    probe_untrace(tracer->probe, traced->step.cgroup_id, traced->step.cgroup_version, traced->slot);
    LIST_REMOVE(traced, link);
    tracer->n--;
    tracer->last = NULL;
    stop_reader(tracer, traced);
    traced_destroy(traced);
}

/* How long the end of jobiod is delayed by each reader that hangs. */
#define JOIN_NS (NS_PER_S / 20)

void tracer_destroy(struct tracer *tracer)
{
    if (!tracer)
        return;
    while (!LIST_EMPTY(&tracer->steps))
        remove_step(tracer, LIST_FIRST(&tracer->steps));
    join_readers(tracer, JOIN_NS);
    while (!LIST_EMPTY(&tracer->stopped)) {
        struct stopped *stopped = LIST_FIRST(&tracer->stopped);

        LIST_REMOVE(stopped, link);
        free(stopped);
    }
    free(tracer);
}

int tracer_create(struct tracer **ret, struct probe *probe, const struct trace_limits *limits,
                  struct error *error)
{
    struct tracer *tracer = calloc(1, sizeof(*tracer));

    if (!tracer)
        return error_errno(error, -ENOMEM, "trace");
    tracer->probe = probe;
    tracer->limits = *limits;
    *ret = tracer;
    return 0;
}

/* Spans of one step often follow each other. */
static struct traced *find(const struct tracer *tracer, uint32_t step)
{
    struct traced *traced = tracer->last;

    if (traced && traced->step.number == step)
        return traced;
    LIST_FOREACH (traced, &tracer->steps, link) {
        if (traced->step.number == step)
            return traced;
    }
    return NULL;
}

bool tracer_has(const struct tracer *tracer, uint32_t step)
{
    return find(tracer, step);
}

size_t tracer_steps(const struct tracer *tracer)
{
    return tracer ? tracer->n : 0;
}

static int check_limits(const struct tracer *tracer, uid_t uid, struct error *error)
{
    const struct traced *traced;
    size_t of_user = 0;

    LIST_FOREACH (traced, &tracer->steps, link) {
        of_user += traced->step.uid == uid;
    }
    if (tracer->n == TRACER_STEPS)
        return error_set(error, -ENOSPC, "%d steps are traced already", TRACER_STEPS);
    if (of_user == TRACER_USER_STEPS)
        return error_set(error, -ENOSPC, "%d steps of the user are traced already",
                         TRACER_USER_STEPS);
    return 0;
}

/* Steps without a reader are traced, too. */
static int watch_processes(struct tracer *tracer, struct traced *traced, struct error *error)
{
    bool here = tracer->limits.wait_for_ranks;

    traced->reader = here ? NULL : start_reader(tracer, traced->step.uid);
    traced->processes = trace_processes_create(here ? "/proc" : NULL, traced->reader);
    if (traced->processes)
        return 0;
    stop_reader(tracer, traced);
    probe_untrace(tracer->probe, traced->step.cgroup_id, traced->step.cgroup_version, traced->slot);
    return error_errno(error, -ENOMEM, "trace a step");
}

int tracer_start(struct tracer *tracer, const struct tracer_step *step, struct error *error)
{
    CLEANUP(traced_destroyp) struct traced *traced = calloc(1, sizeof(*traced));
    int r = check_limits(tracer, step->uid, error);

    if (r < 0)
        return r;
    if (traced) {
        traced->step = *step;
        traced->keeper = span_keeper_create(tracer->limits.per_second, tracer->limits.in_all);
    }
    if (!traced || !traced->keeper)
        return error_errno(error, -ENOMEM, "trace a step");
    r = probe_trace(tracer->probe, step->cgroup_id, step->cgroup_version, step->of, step->paths,
                    &traced->slot, error);
    if (r == 0)
        r = watch_processes(tracer, traced, error);
    if (r < 0)
        return r;
    traced->before = probe_trace_left_out(tracer->probe, traced->slot);
    probe_trace_reported(tracer->probe, traced->slot, traced->reported_before);
    if (!tracer->n++)
        tracer->due_ns = clock_ns(CLOCK_MONOTONIC) + NS_PER_S;
    LIST_INSERT_HEAD(&tracer->steps, traced, link);
    (void)TAKE_PTR(traced);
    return 0;
}

int tracer_fd(const struct tracer *tracer)
{
    return tracer ? probe_spans_fd(tracer->probe) : -1;
}

uint64_t tracer_due(const struct tracer *tracer)
{
    if (!tracer || (!tracer->n && !tracer->more))
        return UINT64_MAX;
    return tracer->more ? 0 : tracer->due_ns;
}

static void on_span(uint32_t step, const struct span *span, const char *comm, void *arg)
{
    struct tracer *tracer = arg;
    struct traced *traced = find(tracer, step);

    if (!traced)
        return;
    tracer->last = traced;
    traced->read[span->kind]++;
    trace_processes_see(traced->processes, span, comm);
    span_keeper_add(traced->keeper, span);
}

static void set_least(const struct tracer *tracer, const struct traced *traced, uint64_t least_ns)
{
    probe_trace_set_least(tracer->probe, traced->slot, least_ns);
}

/* The limit of an interval ends before the last spans of the interval are read, so that no span of
 * the next one is left out by it. */
static int read_spans(struct tracer *tracer, uint32_t max, struct error *error)
{
    bool turn = clock_ns(CLOCK_MONOTONIC) >= tracer->due_ns;
    struct traced *traced;
    int r;

    LIST_FOREACH (traced, &tracer->steps, link) {
        if (turn)
            set_least(tracer, traced, 0);
    }
    r = probe_spans(tracer->probe, max, on_span, tracer, error);
    tracer->more = r > 0;
    if (turn)
        tracer->due_ns = clock_ns(CLOCK_MONOTONIC) + NS_PER_S;
    LIST_FOREACH (traced, &tracer->steps, link) {
        trace_processes_update(traced->processes);
        if (turn)
            span_keeper_turn(traced->keeper);
        set_least(tracer, traced, span_keeper_least_ns(traced->keeper));
    }
    return r < 0 ? r : 0;
}

int tracer_read(struct tracer *tracer, struct error *error)
{
    return tracer ? read_spans(tracer, SPANS_OF_A_READ, error) : 0;
}

static void add_left_out(struct trace_left_out *to, const struct trace_left_out *now,
                         const struct trace_left_out *before)
{
    for (int kind = 0; kind < SPAN_KINDS; kind++) {
        add_saturating(&to->shorter[kind], now->shorter[kind] - before->shorter[kind]);
        add_saturating(&to->overflow[kind], now->overflow[kind] - before->overflow[kind]);
    }
}

/* The ring buffer stops at a span that a task is still writing, of whatever step: those behind it
 * are not read any more when a step ends. */
static void add_unread(const struct tracer *tracer, const struct traced *traced,
                       uint64_t overflow[SPAN_KINDS])
{
    uint64_t reported[SPAN_KINDS];

    probe_trace_reported(tracer->probe, traced->slot, reported);
    for (int kind = 0; kind < SPAN_KINDS; kind++)
        add_saturating(&overflow[kind],
                       reported[kind] - traced->reported_before[kind] - traced->read[kind]);
}

static int finish(struct tracer *tracer, struct traced *traced, struct trace *ret,
                  struct error *error)
{
    struct trace_left_out left_out;
    int r = read_spans(tracer, PROBE_SPANS_ALL, error);

    if (r < 0)
        return r;
    span_keeper_finish(traced->keeper, ret);
    left_out = probe_trace_left_out(tracer->probe, traced->slot);
    add_left_out(&ret->left_out, &left_out, &traced->before);
    add_unread(tracer, traced, ret->left_out.overflow);
    ret->of = traced->step.of;
    ret->paths = traced->step.paths;
    ret->real_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    r = trace_processes_finish(traced->processes, ret);
    return r < 0 ? error_errno(error, r, "trace a step") : 0;
}

int tracer_finish(struct tracer *tracer, uint32_t step, struct trace *ret, struct error *error)
{
    struct traced *traced = find(tracer, step);
    int r = traced ? finish(tracer, traced, ret, error)
                   : error_set(error, -ENOENT, "the step is not traced");

    if (traced)
        remove_step(tracer, traced);
    return r;
}
