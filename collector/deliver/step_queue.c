/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/step_queue.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/http/backoff.h"
#include "collector/deliver/step_queue_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

static uint64_t real_s(void)
{
    return (uint64_t)time(NULL);
}

/* --- steps -------------------------------------------------------------------------------------
 */

/* The rest of the batch is read again later; all before `id` is settled. */
static void abandon(struct sink *sink, int64_t id)
{
    for (size_t i = 0; i < sink->n_suspects; i++)
        if (sink->suspects[i].id < id)
            id = sink->suspects[i].id;
    sink->n_suspects = 0;
    sink->n_ranges = 0;
    sink->after = id - 1;
    sink_batch_destroy(TAKE_PTR(sink->batch));
}

static void deliver_items(struct sink *sink, const int64_t *ids, size_t n)
{
    if (!n)
        return;
    sink_took(sink);
    sink->steps += n;
    sink->hooks.delivered(ids, n, sink->hooks.arg);
}

static void refuse(struct sink *sink, int64_t id, const char *why)
{
    sink->refusals++;
    sink->refusals_in_a_row++;
    sink->hooks.refused(id, why, sink->hooks.arg);
}

static void refuse_suspects(struct sink *sink)
{
    for (size_t i = 0; i < sink->n_suspects; i++)
        refuse(sink, sink->suspects[i].id, sink->suspects[i].why);
    sink->n_suspects = 0;
}

static void refuse_guilty(struct sink *sink)
{
    struct sink_held held;

    while (sink_search_guilty(&sink->search, &held))
        refuse(sink, held.id, held.why);
}

/* A sink that takes others means these. One that takes nothing is believed for a few; then it is
 * more likely that something is wrong with it, and nobody's rows are put aside for that. */
static bool may_refuse(const struct sink *sink)
{
    return sink->taken || sink->refusals_in_a_row + sink->n_suspects <= SINK_REFUSALS;
}

/* False: too many. */
static bool suspect(struct sink *sink, int64_t id, const char *why)
{
    struct sink_suspect *s;

    if (sink->n_suspects == SINK_SUSPECTS && may_refuse(sink))
        refuse_suspects(sink);
    if (sink->n_suspects == SINK_SUSPECTS)
        return false;
    s = &sink->suspects[sink->n_suspects++];
    s->id = id;
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    return true;
}

static void give_up_batch(struct sink *sink, const char *why)
{
    char text[SINK_WHY_MAX];

    (void)snprintf(text, sizeof(text), "it refuses all that it gets; the last: %.180s", why);
    abandon(sink, sink->batch->items[sink->range.first].id);
    sink_failed(sink, &(struct sink_failure){.state = SINK_STUCK, .why = text});
}

static void send_next(struct sink *sink);

/* All of the batch was sent. */
static void finish_batch(struct sink *sink)
{
    bool more = sink->batch->more;

    if (sink->n_suspects && !may_refuse(sink)) {
        give_up_batch(sink, sink->suspects[sink->n_suspects - 1].why);
        return;
    }
    refuse_suspects(sink);
    sink->after = sink->batch->items[sink->batch->n - 1].id;
    sink_batch_destroy(TAKE_PTR(sink->batch));
    sink_wake_in(sink, more ? 0 : sink->dirty ? sink->options.delay_ns : sink->options.poll_ns);
}

/* --- what it answered --------------------------------------------------------------------------
 */

/* False: it is one step. */
static bool halve(struct sink *sink)
{
    struct sink_range r = sink->range;
    size_t middle = r.first + (r.last - r.first) / 2;

    if (r.last - r.first == 1)
        return false;
    sink->ranges[sink->n_ranges++] = (struct sink_range){middle, r.last};
    sink->ranges[sink->n_ranges++] = (struct sink_range){r.first, middle};
    send_next(sink);
    return true;
}

static void on_refused(struct sink *sink, const char *why)
{
    if (halve(sink))
        return;
    if (suspect(sink, sink->batch->items[sink->range.first].id, why))
        send_next(sink);
    else
        give_up_batch(sink, why);
}

/* What was sent is tried again later. */
static void on_failed(struct sink *sink, enum sink_outcome outcome, uint64_t retry_after_s,
                      const char *why)
{
    const struct sink_item *items = &sink->batch->items[sink->range.first];
    struct sink_failure failure = {outcome == SINK_MISCONFIGURED ? SINK_STUCK : SINK_BACKOFF,
                                   retry_after_s, false, why};
    int64_t after = items[0].id - 1;

    if (outcome == SINK_RETRY && !retry_after_s)
        after = sink_search_failed(&sink->search, items, sink->range.last - sink->range.first, why,
                                   &failure.smaller);
    if (sink->taken && may_refuse(sink))
        refuse_suspects(sink);
    abandon(sink, after + 1);
    sink_failed(sink, &failure);
}

static void on_no_memory(struct sink *sink)
{
    on_failed(sink, SINK_WAIT, 0, "no memory");
}

/* What was held back meanwhile comes first. */
static void on_passed(struct sink *sink)
{
    sink_worked(sink);
    sink_search_passed(&sink->search, &sink->batch->items[sink->range.first],
                       sink->range.last - sink->range.first);
    refuse_guilty(sink);
    if (!sink->search.n_held) {
        send_next(sink);
        return;
    }
    if (may_refuse(sink))
        refuse_suspects(sink);
    abandon(sink, sink->search.held[0].id);
    sink_wake_in(sink, 0);
}

static void on_taken(struct sink *sink)
{
    size_t n = sink->range.last - sink->range.first;
    _free_ int64_t *ids = calloc(n, sizeof(*ids));

    if (!ids) { /* it gets them again */
        on_no_memory(sink);
        return;
    }
    for (size_t i = 0; i < n; i++)
        ids[i] = sink->batch->items[sink->range.first + i].id;
    sink->rows += sink_batch_rows(sink->batch, sink->range.first, sink->range.last);
    deliver_items(sink, ids, n);
    on_passed(sink);
}

/* The worst of the verdicts on the rows of a step. */
static const struct sink_verdict *verdict_on(const struct sink_verdict *rows, size_t n)
{
    static const int badness[] = {[SINK_OK] = 0,
                                  [SINK_REFUSED] = 1,
                                  [SINK_RETRY] = 2,
                                  [SINK_WAIT] = 3,
                                  [SINK_MISCONFIGURED] = 4};
    const struct sink_verdict *worst = rows;

    for (size_t i = 1; i < n; i++)
        if (badness[rows[i].outcome] > badness[worst->outcome])
            worst = &rows[i];
    return worst;
}

struct tally {
    int64_t *ids; /* taken */
    size_t n;
    const struct sink_verdict **verdicts; /* one a step of the range */
    const struct sink_verdict *failed;    /* the first that is to be tried again */
    int64_t failed_id;
};

static void tally_range(struct sink *sink, const struct sink_verdict *rows, struct tally *tally)
{
    for (size_t i = sink->range.first; i < sink->range.last; i++) {
        const struct sink_item *item = &sink->batch->items[i];
        const struct sink_verdict *v = verdict_on(rows, item->rows);

        rows += item->rows;
        tally->verdicts[i - sink->range.first] = v;
        if (v->outcome == SINK_OK) {
            tally->ids[tally->n++] = item->id;
            sink->rows += item->rows;
        } else if (v->outcome != SINK_REFUSED && !tally->failed) {
            tally->failed = v;
            tally->failed_id = item->id;
        }
    }
}

/* What fails while others pass is to blame itself, unless it was told to wait. */
static void on_some_failed(struct sink *sink, const struct tally *tally)
{
    for (size_t i = sink->range.first; i < sink->range.last; i++) {
        const struct sink_verdict *v = tally->verdicts[i - sink->range.first];

        if (v->outcome == SINK_RETRY)
            sink_search_strike(&sink->search, sink->batch->items[i].id, v->why);
    }
    refuse_guilty(sink);
    if (may_refuse(sink))
        refuse_suspects(sink);
    abandon(sink, tally->failed_id);
    sink_failed(sink, &(struct sink_failure){.state = tally->failed->outcome == SINK_MISCONFIGURED
                                                          ? SINK_STUCK
                                                          : SINK_BACKOFF,
                                             .why = tally->failed->why});
}

static void on_partly(struct sink *sink, const struct sink_verdict *rows)
{
    size_t n = sink->range.last - sink->range.first;
    _free_ int64_t *ids = calloc(n, sizeof(*ids));
    _free_ const struct sink_verdict **verdicts = calloc(n, sizeof(struct sink_verdict *));
    struct tally tally = {.ids = ids, .verdicts = verdicts};

    if (!ids || !verdicts) {
        on_no_memory(sink);
        return;
    }
    tally_range(sink, rows, &tally);
    deliver_items(sink, ids, tally.n);
    for (size_t i = 0; i < n; i++)
        if (verdicts[i]->outcome == SINK_REFUSED &&
            !suspect(sink, sink->batch->items[sink->range.first + i].id, verdicts[i]->why)) {
            give_up_batch(sink, verdicts[i]->why);
            return;
        }
    if (!tally.failed)
        on_passed(sink);
    else if (tally.n)
        on_some_failed(sink, &tally);
    else
        on_failed(sink, tally.failed->outcome, 0, tally.failed->why);
}

static void on_answer(const struct http_answer *answer, void *arg)
{
    struct sink *sink = arg;
    size_t n = sink_batch_rows(sink->batch, sink->range.first, sink->range.last);
    _free_ struct sink_verdict *rows =
        sink->options.format == SINK_BULK ? calloc(n, sizeof(*rows)) : NULL;
    char why[SINK_WHY_MAX] = "no memory";
    enum sink_outcome outcome = SINK_RETRY;

    sink->sending = false;
    sink->last_code = answer->code;
    if (rows || sink->options.format != SINK_BULK)
        outcome = sink_answer_judge(sink->options.format, answer, n, rows, why);
    switch (outcome) {
    case SINK_OK:
        on_taken(sink);
        break;
    case SINK_PARTLY:
        on_partly(sink, rows);
        break;
    case SINK_REFUSED:
        on_refused(sink, why);
        break;
    case SINK_TOO_LONG:
        if (!halve(sink))
            on_failed(sink, SINK_RETRY, 0, why);
        break;
    case SINK_RETRY:
    case SINK_WAIT:
    case SINK_MISCONFIGURED:
        on_failed(sink, outcome, answer->retry_after_s, why);
        break;
    }
}

static int send_range(struct sink *sink, struct error *error)
{
    struct http_request request = {
        .method = "POST",
        .url = sink->post_url,
        .headers = sink_headers(sink->options.format),
        .answer_max = sink->options.answer_max,
        .mark = sink->options.format == SINK_CLICKHOUSE ? SINK_CLICKHOUSE_MARK : NULL,
    };

    if (sink_batch_body(sink->batch, sink->range.first, sink->range.last, &request.body,
                        &request.size) < 0)
        return error_errno(error, -ENOMEM, "a request");
    return http_client_send(sink->client, &request, on_answer, sink, error);
}

static void send_next(struct sink *sink)
{
    struct sink_range r;
    struct error error;
    size_t n;

    if (!sink->n_ranges) {
        finish_batch(sink);
        return;
    }
    r = sink->ranges[--sink->n_ranges];
    n = sink_search_size(&sink->search, &sink->batch->items[r.first], r.last - r.first);
    if (r.first + n < r.last)
        sink->ranges[sink->n_ranges++] = (struct sink_range){r.first + n, r.last};
    sink->range = (struct sink_range){r.first, r.first + n};
    sink->last_attempt_s = real_s();
    sink->requests++;
    sink->sending = true;
    if (send_range(sink, &error) < 0) {
        sink->sending = false;
        on_failed(sink, SINK_WAIT, 0, error.text);
    }
}

/* --- batches -----------------------------------------------------------------------------------
 */

#define SEARCH_ROWS 8 /* of a step, as a rule no more */

static int on_due(sd_event_source *source, uint64_t usec, void *arg)
{
    struct sink *sink = arg;

    (void)source, (void)usec;
    if (sink->reading || sink->batch)
        return 0;
    sink->reading = true;
    sink->dirty = false;
    if (sink->rewind)
        sink->after = 0;
    sink->rewind = false;
    sink->look = sink->limits;
    /* A request of few steps needs no large batch, least of all while the sink is away. */
    if (sink->search.cap && sink->search.cap * SEARCH_ROWS < sink->look.rows)
        sink->look.rows = (unsigned)sink->search.cap * SEARCH_ROWS;
    /* One that was held back comes alone: what was sent behind it may not be out of the outbox. */
    if (sink->search.n_held && sink->after + 1 == sink->search.held[0].id)
        sink->look.rows = 1;
    sink->hooks.read(sink->after, &sink->look, &sink->row_options, sink->hooks.arg);
    return 0;
}

/* Too much for the time that a question to the store has: less, and slowly more again. */
static void on_not_read(struct sink *sink, int result, const char *why)
{
    struct sink_failure failure = {.state = SINK_BACKOFF, .why = why};

    sink->last_code = 0;
    if (result == -ETIMEDOUT && sink->limits.rows > 1) {
        sink->limits.rows /= 2;
        failure.smaller = true;
    }
    sink_failed(sink, &failure);
}

static void on_nothing_read(struct sink *sink)
{
    if (sink->search.n_held) {
        sink->after = sink->search.held[0].id - 1;
        sink_wake_in(sink, 0);
    } else {
        sink_wake_in(sink, sink->dirty ? sink->options.delay_ns : sink->options.poll_ns);
    }
}

static void allow_more(struct sink *sink)
{
    unsigned most = sink->options.limits.rows, step = most / 16 ? most / 16 : 1;

    sink->limits.rows = most - sink->limits.rows < step ? most : sink->limits.rows + step;
}

void sink_provide(struct sink *sink, int result, struct sink_batch *batch, const struct error *why)
{
    sink->reading = false;
    if (result < 0) {
        on_not_read(sink, result, why->text);
        return;
    }
    sink_search_looked(&sink->search, sink->after, batch);
    allow_more(sink);
    if (!batch->n) {
        sink_batch_destroy(batch);
        on_nothing_read(sink);
        return;
    }
    sink->batch = batch;
    sink->taken = false;
    sink->n_ranges = 1;
    sink->ranges[0] = (struct sink_range){0, batch->n};
    send_next(sink);
}

void sink_notify(struct sink *sink)
{
    uint64_t wait = sink->options.delay_ns / 2 + backoff_random(sink->options.delay_ns);

    sink->dirty = true;
    if (sink->started && !sink->reading && !sink->batch && !sink->failures_in_a_row &&
        clock_ns(CLOCK_BOOTTIME) + wait < sink->due_ns)
        sink_wake_in(sink, wait);
}

void sink_rewind(struct sink *sink)
{
    sink->rewind = true;
}

/* --- life --------------------------------------------------------------------------------------
 */

static int copy(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return from && !*to ? -ENOMEM : 0;
}

static int create_client(struct sink *sink, sd_event *loop, const struct sink_options *options,
                         struct error *error)
{
    struct http_client_options http = {
        .access = options->access,
        .connect_timeout_ns = options->connect_timeout_ns,
        .timeout_ns = options->timeout_ns,
    };

    return http_client_create(&sink->client, loop, &http, error);
}

static int fill(struct sink *sink, sd_event *loop, const struct sink_options *options,
                struct error *error)
{
    int r;

    sink->options = *options;
    sink->limits = options->limits;
    sink->post_url = sink_post_url(options);
    if (!sink->post_url || copy(&sink->url, options->url) < 0 ||
        copy(&sink->table, options->table) < 0 || copy(&sink->action, options->action) < 0)
        return error_errno(error, -ENOMEM, "history sink");
    sink->row_options = (struct sink_row_options){options->format, sink->table, sink->action};
    r = sd_event_add_time(loop, &sink->timer, CLOCK_BOOTTIME, 0, 20000, on_due, sink);
    if (r >= 0)
        r = sd_event_source_set_enabled(sink->timer, SD_EVENT_OFF);
    return r < 0 ? error_errno(error, r, "history sink")
                 : create_client(sink, loop, options, error);
}

int sink_create(struct sink **ret, sd_event *loop, const struct sink_options *options,
                const struct sink_hooks *hooks, struct error *error)
{
    struct sink *sink;
    int r = sink_check_options(options, error);

    if (r < 0)
        return r;
    sink = calloc(1, sizeof(*sink));
    if (!sink)
        return error_errno(error, -ENOMEM, "history sink");
    sink->hooks = *hooks;
    r = fill(sink, loop, options, error);
    if (r < 0) {
        sink_destroy(sink);
        return r;
    }
    *ret = sink;
    return 0;
}

void sink_destroy(struct sink *sink)
{
    if (!sink)
        return;
    http_client_destroy(sink->client);
    sd_event_source_disable_unref(sink->timer);
    sink_batch_destroy(sink->batch);
    free(sink->url);
    free(sink->post_url);
    free(sink->table);
    free(sink->action);
    free(sink);
}

void sink_start(struct sink *sink)
{
    const char *weakness = http_client_weakness();

    if (weakness)
        sink_say(sink, LOG_LEVEL_WARNING, "history: %s", weakness);
    sink->started = true;
    sink_wake_in(sink, backoff_random(sink->options.delay_ns));
}
