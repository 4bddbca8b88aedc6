/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/step_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sample/sampler.h"
#include "collector/store/writer.h"
#include "collector/trace/directory.h"
#include "collector/trace/keeper.h"
#include "collector/trace/tracer.h"
#include "collector/track/tracker_state.h"
#include "common/cleanup.h"
#include "common/clock.h"

static void log_failure(struct step *step, const char *why)
{
    char text[16];

    step->job->tracker->traces_failed++;
    if (log_allowed("trace", 10, NULL))
        tracker_log(step->job->tracker, LOG_LEVEL_WARNING, "step %u.%s has no trace: %s",
                    step->tag.jobid, step_format(step->tag.step, text), why);
}

void step_trace_start(struct step *step, bool partial)
{
    struct tracker *tracker = step->job->tracker;
    const struct tag *tag = &step->tag;
    const struct tracer_step traced = {.number = step->number,
                                       .uid = tag->uid,
                                       .cgroup_id = tag->cgroup_id,
                                       .cgroup_version = tag->version,
                                       .of = tag->trace_of,
                                       .paths = tag->trace_paths};
    struct error error;

    if (!tag->trace)
        return;
    step->trace_partial = partial;
    if (!tracker->tracer)
        log_failure(step, "\"allow = yes\" is not in [trace] of jobio.conf");
    else if (tag->trace_of == TRACE_OF_MPI && !tracker->mpi)
        log_failure(step, "MPI-IO is not counted on this node (\"count = no\" in [mpi])");
    else if (tracer_start(tracker->tracer, &traced, &error) < 0)
        log_failure(step, error.text);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Spans that wait for the disk. */
#define WAITING_MAX (64 << 20)

struct ended {
    struct tracker *tracker;
    size_t bytes;
    uint64_t undelivered; /* older traces that were removed for it */
    struct step_trace trace;
};

static void ended_destroy(struct ended *ended)
{
    if (!ended)
        return;
    step_trace_clear(&ended->trace);
    free(ended);
}
DEFINE_CLEANUP(struct ended, ended_destroy)

static int run_put(struct store *store, void *arg, struct error *error)
{
    struct ended *ended = arg;

    (void)store;
    return trace_directory_put(&ended->tracker->traces, &ended->trace, &ended->undelivered, error);
}

static void on_put(int result, const struct error *error, void *arg)
{
    CLEANUP(ended_destroyp) struct ended *ended = arg;
    struct tracker *tracker = ended->tracker;

    tracker->trace_bytes_waiting -= ended->bytes;
    tracker->traces_kept += result == 0;
    tracker->traces_failed += result < 0;
    tracker->traces_undelivered += ended->undelivered;
    if (result == 0 && tracker->hooks.traced)
        tracker->hooks.traced(tracker->hooks.arg);
    if (result < 0 && log_allowed("trace-put", 60, NULL))
        tracker_log(tracker, LOG_LEVEL_ERROR, "the trace of job %u is lost: %s", ended->trace.jobid,
                    error->text);
}

/* --- retention -------------------------------------------------------------------------------- */

#define SWEEP_INTERVAL (10 * NS_PER_MINUTE)

struct sweep {
    struct tracker *tracker;
    uint64_t undelivered;
};

static int run_sweep(struct store *store, void *arg, struct error *error)
{
    struct sweep *sweep = arg;

    (void)store;
    return trace_directory_sweep(&sweep->tracker->traces, &sweep->undelivered, error);
}

static void on_swept(int result, const struct error *error, void *arg)
{
    _free_ struct sweep *sweep = arg;

    sweep->tracker->traces_undelivered += sweep->undelivered;
    if (result < 0 && log_allowed("trace-sweep", 3600, NULL))
        tracker_log(sweep->tracker, LOG_LEVEL_WARNING, "traces: %s", error->text);
}

void step_traces_sweep(struct tracker *tracker)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    struct sweep *sweep;

    if (!tracker->traces.path || !tracker->writer ||
        (tracker->traces_swept_ns && now - tracker->traces_swept_ns < SWEEP_INTERVAL))
        return;
    tracker->traces_swept_ns = now;
    sweep = calloc(1, sizeof(*sweep));
    if (!sweep)
        return;
    sweep->tracker = tracker;
    if (writer_submit(tracker->writer, false, run_sweep, on_swept, sweep) < 0)
        free(sweep); /* the next one does it */
}

/* --- the end of a step ------------------------------------------------------------------------ */

/* The user chooses the names of mounts in a namespace of the job, and each span repeats one. */
#define MOUNT_BYTES 128

static int name_mounts(struct step *step, struct trace *trace)
{
    struct sampler *sampler = step->job->tracker->sampler;
    const char *name = NULL;
    char text[MOUNT_BYTES + 1];
    uint64_t dev = 0;

    for (size_t i = 0; i < trace->n_spans; i++) {
        struct span *span = &trace->spans[i];

        if (span->kind != SPAN_REQUEST)
            continue;
        if (!name || span->dev != dev) {
            (void)snprintf(text, sizeof(text), "%s",
                           sampler_mount(sampler, step->number, span->dev));
            name = trace_mount(trace, text);
        }
        if (!name)
            return -ENOMEM;
        dev = span->dev;
        span->mount = name;
    }
    return 0;
}

static int copy_text(const char *from, char **ret)
{
    *ret = from ? strdup(from) : NULL;
    return from && !*ret ? -ENOMEM : 0;
}

/* The step encloses its spans, also if the clock was set meanwhile. */
static void set_period(const struct step *step, struct step_trace *trace)
{
    trace->start_ns = step->account.tagged_at_ns;
    trace->end_ns = trace->start_ns + step->account.elapsed_ns;
    for (size_t i = 0; i < trace->trace.n_spans; i++) {
        const struct span *span = &trace->trace.spans[i];
        uint64_t start_ns = trace->trace.real_ns + span->start_ns;

        if (start_ns < trace->start_ns)
            trace->start_ns = start_ns;
        if (start_ns + span->time_ns > trace->end_ns)
            trace->end_ns = start_ns + span->time_ns;
    }
}

static int describe(const struct step *step, struct step_trace *ret)
{
    const struct tracker *tracker = step->job->tracker;
    const struct tag *tag = &step->tag;
    int r = copy_text(tracker->cluster, &ret->cluster);

    if (r == 0)
        r = copy_text(tracker->node, &ret->node);
    if (r == 0)
        r = copy_text(tag->name, &ret->name);
    if (r == 0)
        r = copy_text(tag->caller, &ret->caller);
    ret->jobid = tag->jobid;
    ret->restart = tag->restart;
    ret->het = tag->het;
    ret->step = tag->step;
    ret->uid = tag->uid;
    ret->array_job = tag->array_job;
    ret->array_task = tag->array_task;
    ret->partial = step->trace_partial;
    return r;
}

static int finish(struct step *step, struct step_trace *ret, struct error *error)
{
    struct tracker *tracker = step->job->tracker;
    int r = tracer_finish(tracker->tracer, step->number, &ret->trace, error);

    if (r < 0)
        return r;
    r = name_mounts(step, &ret->trace);
    if (r == 0)
        r = describe(step, ret);
    if (r < 0)
        return error_errno(error, r, "finish it");
    set_period(step, ret);
    return 0;
}

void step_trace_end(struct step *step)
{
    struct tracker *tracker = step->job->tracker;
    CLEANUP(ended_destroyp) struct ended *ended = NULL;
    struct error error;

    if (!tracker->tracer || !tracer_has(tracker->tracer, step->number))
        return;
    ended = calloc(1, sizeof(*ended));
    if (!ended || finish(step, &ended->trace, &error) < 0) {
        log_failure(step, ended ? error.text : "out of memory");
        return;
    }
    ended->tracker = tracker;
    ended->bytes = ended->trace.trace.n_spans * sizeof(struct span) +
                   (step->tag.trace_paths ? SPAN_KEEPER_PATH_BYTES : 0);
    if (!tracker->writer) {
        log_failure(step, "it ended before jobiod had started");
    } else if (tracker->trace_bytes_waiting + ended->bytes > WAITING_MAX ||
               writer_submit(tracker->writer, false, run_put, on_put, ended) < 0) {
        log_failure(step, "too many traces or rows wait for the disk");
    } else {
        tracker->trace_bytes_waiting += ended->bytes;
        (void)TAKE_PTR(ended);
    }
}
