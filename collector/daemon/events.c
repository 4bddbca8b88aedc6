/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/events.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>

#include "collector/daemon/limited_log.h"
#include "collector/daemon/runs.h"
#include "collector/mounts/mounts.h"
#include "collector/probe/probe.h"
#include "collector/sample/sampler.h"
#include "collector/store/writer.h"
#include "collector/track/services.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"

/* Returning memory to the system takes a millisecond, so it is not done more often. */
#define RETURN_NS (30 * NS_PER_S)

struct events {
    struct events_options options;
    sd_event_source *tick, *settle, *settle_later;
    sd_event_source *traces_due, *traces_post; /* NULL: no step is traced */
    sd_event_source *sources[6];               /* of file descriptors */
    size_t n;
    uint64_t returned_ns; /* when memory was returned to the system */
    bool written;         /* the store has written since */
    bool early_deletions_logged;
};

static void settle_soon(struct events *e)
{
    (void)sd_event_source_set_enabled(e->settle, SD_EVENT_ONESHOT);
}

/* Runs after all other pending events. */
static int on_settle(sd_event_source *source, void *arg)
{
    struct events *e = arg;

    uint64_t again_ns = tracker_settle(e->options.tracker);

    (void)source;
    if (mounts_work(e->options.mounts))
        settle_soon(e);
    if (again_ns) {
        (void)sd_event_source_set_time_relative(e->settle_later, again_ns / 1000);
        (void)sd_event_source_set_enabled(e->settle_later, SD_EVENT_ONESHOT);
    }
    return 0;
}

static int on_settle_later(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    settle_soon(arg);
    return 0;
}

static int on_writer(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct events *e = arg;

    (void)source, (void)fd, (void)events;
    (void)writer_dispatch(e->options.writer);
    e->written = true;
    settle_soon(e);
    return 0;
}

static int on_new_mounts(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct events *e = arg;
    struct error error;

    (void)source, (void)fd, (void)events;
    if (sampler_name_new_mounts(e->options.sampler, &error) < 0)
        log_limited("new-mounts", 60, "mounts: %s", error.text);
    if (mounts_busy(e->options.mounts))
        settle_soon(e);
    return 0;
}

static int on_mounts(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct events *e = arg;
    struct error error;

    (void)source, (void)fd, (void)events;
    if (mounts_refresh(e->options.mounts, &error) < 0)
        log_limited("mounts", 60, "mounts: %s", error.text);
    return 0;
}

static int on_step_file(sd_event_source *source, const struct inotify_event *event, void *arg)
{
    struct events *e = arg;

    (void)source;
    if (event->len)
        tracker_file(e->options.tracker, event->name);
    settle_soon(e);
    return 0;
}

/* Once for the process; jobio status and the metrics have the number. */
static void report_early_deletions(struct events *e)
{
    struct writer_stats stats;

    if (e->early_deletions_logged)
        return;
    writer_stats(e->options.writer, &stats);
    if (!stats.deleted_early)
        return;
    e->early_deletions_logged = true;
    log_warning("the store is full: jobs that ended less than an hour ago are deleted (raise "
                "keep_size in jobio.conf)");
}

static int on_stacks(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct events *e = arg;
    struct error error;

    (void)source, (void)fd, (void)events;
    if (tracker_stacks_work(e->options.tracker, &error) < 0)
        log_limited("stacks", 60, "stacks: %s", error.text);
    return 0;
}

/* The rows of running steps are copies of all accounts, for the thread that writes them. malloc()
 * keeps this memory: with 100 steps, 7 MiB. */
static void return_memory(struct events *e)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);

    if (!e->written || now - e->returned_ns < RETURN_NS)
        return;
    e->written = false;
    e->returned_ns = now;
    (void)malloc_trim(0);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *arg)
{
    struct events *e = arg;
    struct error error;

    (void)usec;
    if (tracker_tick(e->options.tracker, &error) < 0)
        log_limited("tick", 60, "the counters cannot be read: %s", error.text);
    report_early_deletions(e);
    (void)on_stacks(NULL, -1, 0, e);
    runs_tick(e->options.runs);
    if (e->options.services)
        services_tick(e->options.services);
    settle_soon(e);
    return_memory(e);
    (void)sd_event_source_set_time_relative(source, e->options.interval_ns / 1000);
    (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    return 0;
}

/* --- traces ----------------------------------------------------------------------------------- */

static int on_spans(struct events *e)
{
    struct error error;

    if (tracker_traces_read(e->options.tracker, &error) < 0)
        log_limited("spans", 60, "traces: %s", error.text);
    return 0;
}

static int on_spans_readable(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    (void)source, (void)fd, (void)events;
    return on_spans(arg);
}

static int on_spans_due(sd_event_source *source, uint64_t usec, void *arg)
{
    (void)source, (void)usec;
    return on_spans(arg);
}

/* After each event, because any of them may start or end a step. */
static int on_any_event(sd_event_source *source, void *arg)
{
    struct events *e = arg;
    uint64_t due_ns = tracker_traces_due(e->options.tracker);

    (void)source;
    if (due_ns != UINT64_MAX)
        (void)sd_event_source_set_time(e->traces_due, due_ns / 1000);
    return sd_event_source_set_enabled(e->traces_due,
                                       due_ns == UINT64_MAX ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

static int watch_fd(struct events *e, int fd, uint32_t events, sd_event_io_handler_t handler)
{
    return fd < 0 ? 0
                  : sd_event_add_io(e->options.loop, &e->sources[e->n++], fd, events, handler, e);
}

static int watch_traces(struct events *e)
{
    int r = watch_fd(e, tracker_traces_fd(e->options.tracker), EPOLLIN, on_spans_readable);

    if (r >= 0)
        r = sd_event_add_time(e->options.loop, &e->traces_due, CLOCK_MONOTONIC, 0, 10000,
                              on_spans_due, e);
    if (r >= 0)
        r = sd_event_source_set_enabled(e->traces_due, SD_EVENT_OFF);
    return r < 0 ? r : sd_event_add_post(e->options.loop, &e->traces_post, on_any_event, e);
}

/* --- all of them ------------------------------------------------------------------------------ */

static int watch_steps(struct events *e)
{
    char path[512];

    (void)snprintf(path, sizeof(path), "%s/steps", e->options.runtime_dir);
    return sd_event_add_inotify(e->options.loop, &e->sources[e->n++], path, IN_MOVED_TO,
                                on_step_file, e);
}

static int prepare_settling(struct events *e)
{
    int r = sd_event_add_defer(e->options.loop, &e->settle, on_settle, e);

    if (r >= 0)
        r = sd_event_source_set_priority(e->settle, SD_EVENT_PRIORITY_IDLE);
    if (r >= 0)
        r = sd_event_add_time(e->options.loop, &e->settle_later, CLOCK_MONOTONIC, 0, 10000,
                              on_settle_later, e);
    return r < 0 ? r : sd_event_source_set_enabled(e->settle_later, SD_EVENT_OFF);
}

static int watch_all(struct events *e, struct error *error)
{
    uint64_t interval_us = e->options.interval_ns / 1000;
    int r = watch_fd(e, writer_fd(e->options.writer), EPOLLIN, on_writer);

    if (r >= 0)
        r = watch_fd(e, probe_fd(e->options.probe), EPOLLIN, on_new_mounts);
    if (r >= 0)
        r = watch_fd(e, mounts_fd(e->options.mounts), EPOLLPRI, on_mounts);
    if (r >= 0)
        r = watch_steps(e);
    if (r >= 0 && tracker_traces_fd(e->options.tracker) >= 0)
        r = watch_traces(e);
    if (r >= 0)
        r = watch_fd(e, tracker_stacks_fd(e->options.tracker), EPOLLIN, on_stacks);
    if (r >= 0)
        r = prepare_settling(e);
    if (r >= 0)
        r = sd_event_add_time_relative(e->options.loop, &e->tick, CLOCK_MONOTONIC, interval_us,
                                       interval_us / 20 + 1, on_tick, e);
    if (r >= 0)
        r = sd_event_add_signal(e->options.loop, NULL, SIGTERM, NULL, NULL);
    if (r >= 0)
        r = sd_event_add_signal(e->options.loop, NULL, SIGINT, NULL, NULL);
    if (r >= 0)
        r = sd_event_set_watchdog(e->options.loop, true);
    return r < 0 ? error_errno(error, r, "cannot set up the event loop") : 0;
}

int events_create(struct events **ret, const struct events_options *options, struct error *error)
{
    struct events *events = calloc(1, sizeof(*events));
    int r;

    if (!events)
        return error_set(error, -ENOMEM, "no memory");
    events->options = *options;
    r = watch_all(events, error);
    if (r < 0) {
        events_destroy(events);
        return r;
    }
    *ret = events;
    return 0;
}

void events_destroy(struct events *events)
{
    if (!events)
        return;
    sd_event_source_disable_unref(events->tick);
    sd_event_source_disable_unref(events->settle);
    sd_event_source_disable_unref(events->settle_later);
    sd_event_source_disable_unref(events->traces_due);
    sd_event_source_disable_unref(events->traces_post);
    for (size_t i = 0; i < ARRAY_SIZE(events->sources); i++)
        sd_event_source_disable_unref(events->sources[i]);
    free(events);
}
