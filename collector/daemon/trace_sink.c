/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/trace_sink.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/limited_log.h"
#include "collector/daemon/target_access.h"
#include "collector/daemon/trace_batch.h"
#include "collector/deliver/kinds.h"
#include "collector/deliver/otlp.h"
#include "collector/deliver/step_queue.h"
#include "collector/store/query.h"
#include "collector/store/writer.h"
#include "collector/trace/outbox.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text.h"
#include "common/tree.h"

struct trace_sink {
    struct trace_outbox *outbox;
    struct step_queue *queue; /* NULL: stopped */
    struct query *query;      /* borrowed, as is the writer */
    struct writer *writer;
    struct otlp_answers answers;
    uint64_t sent, refused; /* spans */
    uint64_t unreadable;    /* traces */
    unsigned last_rows;     /* spans of the part that was read last, which alone can be under way */
};

/* --- reading, on the thread of the query ------------------------------------------------------ */

struct reading {
    struct trace_sink *sink;
    int64_t after;
    uint64_t unreadable;
    struct step_batch *batch;
};

static int run_reading(struct store *reader, void *arg, struct error *error)
{
    struct reading *reading = arg;

    (void)reader;
    return trace_batch_read(reading->sink->outbox, reading->after, TRACE_BATCH_SPANS,
                            &reading->batch, &reading->unreadable, error);
}

static void on_read(int result, const struct error *error, void *arg)
{
    _free_ struct reading *reading = arg;
    struct trace_sink *sink = reading->sink;

    sink->unreadable += reading->unreadable;
    if (reading->unreadable)
        log_limited("trace-unreadable", 60, "traces: %s has files that are not traces",
                    trace_outbox_path(sink->outbox));
    if (result < 0)
        step_batch_destroy(TAKE_PTR(reading->batch));
    else if (reading->batch->n)
        sink->last_rows = reading->batch->items[0].rows;
    step_queue_provide(sink->queue, result, reading->batch, error);
}

static void read_next(int64_t after, const struct step_limits *limits,
                      const struct step_format *format, void *arg)
{
    const struct error busy = {"too many queries of the store are waiting"};
    struct trace_sink *sink = arg;
    struct reading *reading = calloc(1, sizeof(*reading));

    (void)limits, (void)format;
    if (reading) {
        reading->sink = sink;
        reading->after = after;
    }
    if (reading && query_submit(sink->query, run_reading, on_read, reading) == 0)
        return;
    free(reading);
    step_queue_provide(sink->queue, -EBUSY, NULL, &busy);
}

/* --- settling, on the thread of the writer ---------------------------------------------------- */

struct settling {
    struct trace_sink *sink;
    size_t n;
    int64_t ids[];
};

static int run_settling(struct store *store, void *arg, struct error *error)
{
    const struct settling *s = arg;

    (void)store;
    return trace_outbox_settle(s->sink->outbox, s->ids, s->n, error);
}

static void on_settled(int result, const struct error *error, void *arg)
{
    _free_ struct settling *s = arg;

    if (result >= 0)
        return;
    if (s->sink->queue)
        step_queue_rewind(s->sink->queue);
    log_limited("trace-outbox", 60, "traces: those that were delivered are sent again: %s",
                error->text);
}

static void settle(struct trace_sink *sink, const int64_t *ids, size_t n)
{
    const struct error full = {"too many writes are waiting"};
    struct settling *s = malloc(sizeof(*s) + n * sizeof(*ids));

    if (!s) {
        step_queue_rewind(sink->queue);
        return;
    }
    s->sink = sink;
    s->n = n;
    memcpy(s->ids, ids, n * sizeof(*ids));
    if (writer_submit(sink->writer, false, run_settling, on_settled, s) < 0)
        on_settled(-EAGAIN, &full, s);
}

static void on_delivered(const int64_t *ids, size_t n, void *arg)
{
    struct trace_sink *sink = arg;

    sink->sent += sink->last_rows;
    settle(sink, ids, n);
}

static void on_refused(int64_t id, const char *why, void *arg)
{
    struct trace_sink *sink = arg;

    sink->refused += trace_outbox_spans(sink->outbox, id);
    log_limited("trace-refused", 60, "traces: a request was refused and is not repeated: %s", why);
    settle(sink, &id, 1);
}

static void on_message(const char *message, void *arg)
{
    (void)arg;
    log_limited("trace-partial", 60, "traces: the collector reports: %s", message);
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

/* --- start and stop --------------------------------------------------------------------------- */

bool trace_sink_is_wanted(const struct settings *settings)
{
    return settings->trace.allow && settings->trace.url;
}

static void fill_options(const struct settings *settings, struct step_queue_options *o)
{
    step_queue_defaults(o);
    o->kind = &otlp_kind;
    o->to = (struct target_options){.url = settings->trace.url, .answer_max = 64 << 10};
    o->what = "traces to";
    o->access = target_access(&settings->trace.access);
    o->delay_ns = NS_PER_S;
    o->timeout_ns = settings->trace.timeout_ns;
}

static int forget(const char *directory, struct error *error)
{
    size_t n;
    int r = trace_outbox_forget(directory, &n, error);

    if (n)
        log_warning("the url of [trace] was removed: %zu traces are not delivered to it", n);
    return r;
}

static int create_queue(struct trace_sink *sink, sd_event *loop, const struct settings *settings,
                        struct error *error)
{
    const struct step_queue_hooks hooks = {read_next, on_delivered, on_refused, say, sink};
    struct step_queue_options options;
    int r;

    fill_options(settings, &options);
    sink->answers.on_message = on_message;
    options.kind_arg = &sink->answers;
    r = step_queue_create(&sink->queue, loop, &options, &hooks, error);
    return r < 0 ? error_prefix(error, r, "[trace]") : 0;
}

static int create_sink(struct trace_sink **ret, sd_event *loop, const struct settings *settings,
                       const char *directory, struct error *error)
{
    struct trace_sink *sink = calloc(1, sizeof(*sink));
    int r;

    if (sink)
        sink->outbox = trace_outbox_create(directory);
    r = sink && sink->outbox ? create_queue(sink, loop, settings, error)
                             : error_set(error, -ENOMEM, "no memory");
    if (r < 0)
        trace_sink_destroy(sink);
    else
        *ret = sink;
    return r;
}

int trace_sink_create(struct trace_sink **ret, sd_event *loop, const struct settings *settings,
                      const char *state_dir, struct error *error)
{
    bool wanted = state_dir ? trace_sink_is_wanted(settings) : settings->trace.url != NULL;
    _free_ char *directory = text_format("%s/traces", state_dir ? state_dir : "");

    if (!directory)
        return error_set(error, -ENOMEM, "no memory");
    if (wanted)
        return create_sink(ret, loop, settings, directory, error);
    return state_dir && settings->trace.allow ? forget(directory, error) : 0;
}

void trace_sink_start(struct trace_sink *sink, struct query *query, struct writer *writer)
{
    if (!sink)
        return;
    sink->query = query;
    sink->writer = writer;
    step_queue_start(sink->queue);
}

void trace_sink_notify(struct trace_sink *sink)
{
    if (sink && sink->queue)
        step_queue_notify(sink->queue);
}

void trace_sink_stop(struct trace_sink *sink)
{
    if (sink)
        step_queue_destroy(TAKE_PTR(sink->queue));
}

void trace_sink_destroy(struct trace_sink *sink)
{
    if (!sink)
        return;
    trace_sink_stop(sink);
    trace_outbox_destroy(sink->outbox);
    free(sink);
}

/* --- status ----------------------------------------------------------------------------------- */

const struct step_queue *trace_sink_queue(const struct trace_sink *sink)
{
    return sink ? sink->queue : NULL;
}

const struct trace_outbox *trace_sink_outbox(const struct trace_sink *sink)
{
    return sink ? sink->outbox : NULL;
}

void trace_sink_counts(const struct trace_sink *sink, struct trace_sink_counts *ret)
{
    *ret = (struct trace_sink_counts){0};
    if (sink)
        *ret = (struct trace_sink_counts){.delivered = sink->sent - sink->answers.rejected,
                                          .rejected = sink->answers.rejected,
                                          .refused = sink->refused,
                                          .unreadable = sink->unreadable};
}

struct json_object *trace_sink_status(const struct trace_sink *sink, struct tree *tree)
{
    struct json_object *status = step_queue_status(sink->queue);
    struct trace_sink_counts counts;

    if (!status)
        return NULL;
    trace_sink_counts(sink, &counts);
    json_object_object_del(status, "steps");
    json_object_object_del(status, "rows");
    tree_put_u64(tree, status, "spans", counts.delivered);
    tree_put_u64(tree, status, "rejected", counts.rejected);
    tree_put_u64(tree, status, "refused", counts.refused);
    if (*sink->answers.message)
        tree_put_text(tree, status, "last_message", sink->answers.message);
    return status;
}
