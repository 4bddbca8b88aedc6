/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/history_sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/limited_log.h"
#include "collector/daemon/target_access.h"
#include "collector/deliver/kinds.h"
#include "collector/deliver/step_queue.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "collector/store/writer.h"
#include "common/cleanup.h"

struct history_sink {
    struct step_queue *queue; /* NULL: stopped */
    struct query *query;
    struct writer *writer;
};

/* --- reading ---------------------------------------------------------------------------------- */

struct reading {
    struct history_sink *sink;
    int64_t after;
    const struct step_limits *limits;
    const struct step_format *format;
    struct step_batch *batch;
};

static int run_reading(struct store *reader, void *arg, struct error *error)
{
    struct reading *reading = arg;

    return step_batch_read(reader, HISTORY_SINK, reading->after, reading->limits, reading->format,
                           &reading->batch, error);
}

static void on_read(int result, const struct error *error, void *arg)
{
    struct reading *reading = arg;

    step_queue_provide(reading->sink->queue, result, result < 0 ? NULL : TAKE_PTR(reading->batch),
                       error);
    step_batch_destroy(reading->batch);
    free(reading);
}

static void read_outbox(int64_t after, const struct step_limits *limits,
                        const struct step_format *format, void *arg)
{
    struct history_sink *sink = arg;
    const struct error busy = {"too many queries of the store are waiting"};
    struct reading *reading = calloc(1, sizeof(*reading));

    if (reading)
        *reading = (struct reading){sink, after, limits, format, NULL};
    if (reading && query_submit(sink->query, run_reading, on_read, reading) == 0)
        return;
    free(reading);
    step_queue_provide(sink->queue, -EBUSY, NULL, &busy);
}

/* --- writing ---------------------------------------------------------------------------------- */

struct settling {
    struct history_sink *sink;
    char why[ANSWER_WHY_MAX]; /* "": delivered, else refused */
    size_t n;
    int64_t ids[];
};

static int run_settling(struct store *store, void *arg, struct error *error)
{
    const struct settling *s = arg;

    return *s->why ? store_outbox_refuse(store, s->ids[0], s->why, error)
                   : store_outbox_drop(store, s->ids, s->n, error);
}

static void on_settled(int result, const struct error *error, void *arg)
{
    struct settling *s = arg;

    if (result < 0) {
        log_limited("history-outbox", 60,
                    "history: delivered steps cannot be removed from the outbox: %s", error->text);
        if (s->sink->queue)
            step_queue_rewind(s->sink->queue);
    }
    free(s);
}

static void settle(struct history_sink *sink, const int64_t *ids, size_t n, const char *why)
{
    const struct error full = {"too many writes are waiting"};
    struct settling *s = calloc(1, sizeof(*s) + n * sizeof(*ids));

    if (!s) {
        step_queue_rewind(sink->queue);
        return;
    }
    s->sink = sink;
    s->n = n;
    memcpy(s->ids, ids, n * sizeof(*ids));
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    /* Not final: after a power failure, a step may be delivered again, which is harmless. */
    if (writer_submit(sink->writer, false, run_settling, on_settled, s) < 0)
        on_settled(-EAGAIN, &full, s);
}

static void on_delivered(const int64_t *ids, size_t n, void *arg)
{
    settle(arg, ids, n, "");
}

static void on_refused(int64_t id, const char *why, void *arg)
{
    log_limited("history-refused", 60, "history: a step was refused and is put aside: %s", why);
    settle(arg, &id, 1, why);
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

/* --- start and stop --------------------------------------------------------------------------- */

static void fill_options(const struct settings *settings, struct step_queue_options *o)
{
    step_queue_defaults(o);
    o->kind = target_kind_named(sink_format_name(settings->history.format));
    o->to.url = settings->history.url;
    if (settings->history.table || o->kind == &bulk_kind)
        o->to.table = settings->history.table;
    o->to.action = settings->history.bulk_create ? "create" : "index";
    o->to.parameters = settings->history.parameters;
    o->access = target_access(&settings->history.access);
    o->delay_ns = settings->history.delay_ns;
    o->timeout_ns = settings->history.timeout_ns;
    o->limits = (struct step_limits){.rows = (unsigned)settings->history.batch_rows,
                                     .bytes = settings->history.batch_bytes};
}

/* Clean up after an earlier configuration. Steps queued for a sink that was removed would exempt
 * their jobs from retention for ever. Refused steps are queued again, because the database may have
 * been repaired. */
static int tidy_outbox(struct store *store, bool wanted, struct error *error)
{
    struct outbox_stats stats;
    int r = store_outbox_stats(store, HISTORY_SINK, &stats, error);

    if (r < 0 || wanted)
        return r < 0 ? r : store_outbox_retry(store, HISTORY_SINK, error);
    if (!stats.waiting && !stats.refused)
        return 0;
    log_warning("[history] was removed: %" PRIu64 " steps are not delivered to it",
                stats.waiting + stats.refused);
    return store_outbox_forget(store, HISTORY_SINK, error);
}

const char *const *history_sink_names(const struct settings *settings)
{
    static const char *const sinks[] = {HISTORY_SINK, NULL};

    return settings->history.url ? sinks : NULL;
}

int history_sink_create(struct history_sink **ret, sd_event *loop, const struct settings *settings,
                        struct store *store, struct error *error)
{
    bool wanted = settings->history.url != NULL;
    struct step_queue_hooks hooks = {read_outbox, on_delivered, on_refused, say, NULL};
    struct step_queue_options options;
    struct history_sink *sink;
    int r = store ? tidy_outbox(store, wanted, error) : 0;

    if (r < 0 || !wanted)
        return r;
    sink = calloc(1, sizeof(*sink));
    if (!sink)
        return error_set(error, -ENOMEM, "no memory");
    hooks.arg = sink;
    fill_options(settings, &options);
    r = step_queue_create(&sink->queue, loop, &options, &hooks, error);
    if (r < 0) {
        free(sink);
        return error_prefix(error, r, "[history]");
    }
    *ret = sink;
    return 0;
}

void history_sink_attach(struct history_sink *sink, struct query *query, struct writer *writer)
{
    if (!sink)
        return;
    sink->query = query;
    sink->writer = writer;
}

struct step_queue *history_sink_queue(const struct history_sink *sink)
{
    return sink ? sink->queue : NULL;
}

void history_sink_stop(struct history_sink *sink)
{
    if (sink)
        step_queue_destroy(TAKE_PTR(sink->queue));
}

void history_sink_destroy(struct history_sink *sink)
{
    history_sink_stop(sink);
    free(sink);
}
