/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/history_sink.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/limited_log.h"
#include "collector/daemon/target_access.h"
#include "collector/deliver/kinds.h"
#include "collector/deliver/step_outbox.h"
#include "collector/store/store.h"
#include "common/cleanup.h"

struct history_sink {
    struct step_outbox outbox;
};

static void read_outbox(int64_t after, const struct step_limits *limits,
                        const struct step_format *format, void *arg)
{
    struct history_sink *sink = arg;

    step_outbox_read(&sink->outbox, after, limits, format);
}

static void on_delivered(const int64_t *ids, size_t n, void *arg)
{
    struct history_sink *sink = arg;

    step_outbox_settle(&sink->outbox, ids, n, "");
}

static void on_refused(int64_t id, const char *why, void *arg)
{
    struct history_sink *sink = arg;

    log_limited("history-refused", 60, "history: a step was refused and is put aside: %s", why);
    step_outbox_settle(&sink->outbox, &id, 1, why);
}

static void on_settled(int result, const struct error *error, size_t n, const char *why, void *arg)
{
    (void)n, (void)why, (void)arg;
    if (result < 0)
        log_limited("history-outbox", 60,
                    "history: delivered steps cannot be removed from the outbox: %s", error->text);
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
    /* Not final: after a power failure, a step may be delivered again, which is harmless. */
    sink->outbox = (struct step_outbox){.sink = HISTORY_SINK, .settled = on_settled};
    hooks.arg = sink;
    fill_options(settings, &options);
    r = step_queue_create(&sink->outbox.queue, loop, &options, &hooks, error);
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
    sink->outbox.query = query;
    sink->outbox.writer = writer;
}

struct step_queue *history_sink_queue(const struct history_sink *sink)
{
    return sink ? sink->outbox.queue : NULL;
}

void history_sink_stop(struct history_sink *sink)
{
    if (sink)
        step_queue_destroy(TAKE_PTR(sink->outbox.queue));
}

void history_sink_destroy(struct history_sink *sink)
{
    history_sink_stop(sink);
    free(sink);
}
