/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/deliver/step_queue.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/step_queue_impl.h"
#include "collector/http/backoff.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"

/* --- sending ---------------------------------------------------------------------------------- */

static void wake_when_due(struct step_queue *queue)
{
    const struct step_queue_options *options = &queue->options;
    bool polls = options->poll_ns != UINT64_MAX;

    target_wake_in(&queue->target, queue->dirty              ? options->delay_ns
                                   : queue->rewind && !polls ? options->backoff_ns
                                                             : options->poll_ns);
}

static void finish_batch(struct step_queue *queue)
{
    bool more = queue->batch->more;

    if (!step_verdicts_finish(queue))
        return;
    queue->after = queue->batch->items[queue->batch->n - 1].id;
    step_batch_destroy(TAKE_PTR(queue->batch));
    if (more)
        target_wake_in(&queue->target, 0);
    else
        wake_when_due(queue);
}

static void send_next(struct step_queue *queue)
{
    struct step_range r;
    size_t n;

    if (!queue->n_ranges) {
        finish_batch(queue);
        return;
    }
    r = queue->ranges[--queue->n_ranges];
    n = poison_size(&queue->search, &queue->batch->items[r.first], r.last - r.first);
    if (r.first + n < r.last)
        queue->ranges[queue->n_ranges++] = (struct step_range){r.first + n, r.last};
    queue->range = (struct step_range){r.first, r.first + n};
    target_send(&queue->target,
                step_batch_rows(queue->batch, queue->range.first, queue->range.last));
}

/* --- reading ---------------------------------------------------------------------------------- */

#define SEARCH_ROWS 8 /* rows of a step; most have fewer */

static void on_due(struct target *target)
{
    struct step_queue *queue = target->owner;

    if (queue->reading || queue->batch)
        return;
    queue->reading = true;
    queue->dirty = false;
    if (queue->rewind)
        queue->after = 0;
    queue->rewind = false;
    queue->look = queue->limits;
    /* A request of few steps needs no large batch, least of all while the target is down. */
    if (queue->search.cap && queue->search.cap * SEARCH_ROWS < queue->look.rows)
        queue->look.rows = (unsigned)queue->search.cap * SEARCH_ROWS;
    /* A step that was held back is read alone: those behind it, which were taken, may still be in
     * the outbox. */
    if (queue->search.n_held && queue->after + 1 == queue->search.held[0].id)
        queue->look.rows = 1;
    queue->hooks.read(queue->after, &queue->look, &queue->format, queue->hooks.arg);
}

/* If the query took too long, read fewer rows, and slowly more again. */
static void on_not_read(struct step_queue *queue, int result, const char *why)
{
    struct target_failure failure = {.state = TARGET_BACKOFF, .why = why};

    queue->target.last_code = 0;
    if (result == -ETIMEDOUT && queue->limits.rows > 1) {
        queue->limits.rows /= 2;
        failure.max_failures = POISON_TRIES;
    }
    target_failed(&queue->target, &failure);
}

static void on_nothing_read(struct step_queue *queue)
{
    if (queue->search.n_held) {
        queue->after = queue->search.held[0].id - 1;
        target_wake_in(&queue->target, 0);
    } else {
        wake_when_due(queue);
    }
}

static void allow_more(struct step_queue *queue)
{
    unsigned most = queue->options.limits.rows, step = most / 16 ? most / 16 : 1;

    queue->limits.rows = most - queue->limits.rows < step ? most : queue->limits.rows + step;
}

void step_queue_provide(struct step_queue *queue, int result, struct step_batch *batch,
                        const struct error *why)
{
    queue->reading = false;
    if (queue->target.stopped) {
        step_batch_destroy(batch);
        return;
    }
    if (result < 0) {
        on_not_read(queue, result, why->text);
        return;
    }
    poison_looked(&queue->search, queue->after, batch);
    allow_more(queue);
    if (!batch->n) {
        step_batch_destroy(batch);
        on_nothing_read(queue);
        return;
    }
    queue->batch = batch;
    queue->taken = false;
    queue->n_ranges = 1;
    queue->ranges[0] = (struct step_range){0, batch->n};
    send_next(queue);
}

void step_queue_notify(struct step_queue *queue)
{
    uint64_t wait = queue->options.delay_ns / 2 + backoff_random(queue->options.delay_ns);
    const struct target *target = &queue->target;
    bool backs_off = target->failures_in_a_row && target->due_ns != UINT64_MAX;

    queue->dirty = true;
    if (queue->started && !queue->reading && !queue->batch && !backs_off &&
        clock_ns(CLOCK_BOOTTIME) + wait < target->due_ns)
        target_wake_in(&queue->target, wait);
}

void step_queue_rewind(struct step_queue *queue)
{
    queue->rewind = true;
    if (!queue->reading && !queue->batch && queue->target.due_ns == UINT64_MAX)
        wake_when_due(queue);
}

/* --- the queue of the target ------------------------------------------------------------------ */

static int make_body(struct target *target, void **ret, size_t *size, struct error *error)
{
    struct step_queue *queue = target->owner;

    if (step_batch_body(queue->batch, queue->range.first, queue->range.last, target->kind->compress,
                        ret, size) < 0)
        return error_errno(error, -ENOMEM, "a request");
    return 0;
}

static void settle(struct target *target, const struct target_result *result)
{
    if (step_verdicts_settle(target->owner, result))
        send_next(target->owner);
}

static void say(struct target *target, enum log_level level, const char *text)
{
    const struct step_queue *queue = target->owner;

    queue->hooks.say(level, text, queue->hooks.arg);
}

static const struct target_queue queue_of_steps = {
    .due = on_due, .body = make_body, .settle = settle, .say = say};

/* --- start and end ---------------------------------------------------------------------------- */

void step_queue_defaults(struct step_queue_options *options)
{
    *options = (struct step_queue_options){
        .kind = &clickhouse_kind,
        .to = {.table = "jobio.io", .action = "index", .answer_max = 4u << 20},
        .what = "history to",
        .delay_ns = 5 * NS_PER_S,
        .poll_ns = 300 * NS_PER_S,
        .backoff_ns = 5 * NS_PER_S,
        .slow_ns = 900 * NS_PER_S,
        .connect_timeout_ns = 3 * NS_PER_S,
        .timeout_ns = 30 * NS_PER_S,
        .limits = {.rows = 1000, .bytes = 1 << 20},
    };
}

/* The names of tables become part of a query, those of indexes of JSON. */
static int check_table(const char *table, struct error *error)
{
    for (const char *c = table ? table : ""; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.-", *c))
            return error_set(error, -EINVAL,
                             "\"%s\": a table is made of letters, digits, '_', '-' and '.'", table);
    return 0;
}

static int check_parameters(const char *parameters, struct error *error)
{
    for (const char *c = parameters ? parameters : ""; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("_.,-=&%*~", *c))
            return error_set(error, -EINVAL, "\"%s\" is not a query of a URL like a=1&b=2",
                             parameters);
    return 0;
}

static int check_options(const struct step_queue_options *options, struct error *error)
{
    int r = http_check_url(options->to.url, error);

    if (r == 0 && options->kind->check)
        r = options->kind->check(&options->to, error);
    if (r == 0)
        r = check_table(options->to.table, error);
    if (r == 0)
        r = check_parameters(options->to.parameters, error);
    if (r == 0)
        r = http_access_check(&options->access, error);
    if (r == 0)
        r = http_check_password(&options->access, options->to.url, error);
    return r;
}

static int create_client(struct step_queue *queue, sd_event *loop,
                         const struct step_queue_options *options, struct error *error)
{
    const struct http_client_options http = {
        .access = options->access,
        .connect_timeout_ns = options->connect_timeout_ns,
        .timeout_ns = options->timeout_ns,
    };
    int r = options->client ? 0 : http_client_create(&queue->client, loop, &http, error);

    queue->target.client = options->client ? options->client : queue->client;
    return r;
}

static int fill(struct step_queue *queue, sd_event *loop, const struct step_queue_options *options,
                struct error *error)
{
    struct target *target = &queue->target;
    int r;

    queue->options = *options;
    queue->limits = options->limits;
    target->kind = options->kind;
    target->queue = &queue_of_steps;
    target->owner = queue;
    target->what = options->what;
    target->arg = options->kind_arg;
    target->pace = (struct target_pace){options->backoff_ns, options->slow_ns, 60 * NS_PER_S, NULL};
    queue->format = (struct step_format){options->kind, &target->options};
    r = target_init(target, loop, options->name, &options->to, error);
    return r < 0 ? r : create_client(queue, loop, options, error);
}

int step_queue_create(struct step_queue **ret, sd_event *loop,
                      const struct step_queue_options *options,
                      const struct step_queue_hooks *hooks, struct error *error)
{
    struct step_queue *queue;
    int r = check_options(options, error);

    if (r < 0)
        return r;
    queue = calloc(1, sizeof(*queue));
    if (!queue)
        return error_errno(error, -ENOMEM, "deliver to \"%s\"", options->to.url);
    queue->hooks = *hooks;
    r = fill(queue, loop, options, error);
    if (r < 0) {
        step_queue_destroy(queue);
        return r;
    }
    *ret = queue;
    return 0;
}

void step_queue_destroy(struct step_queue *queue)
{
    if (!queue)
        return;
    http_client_destroy(queue->client);
    target_clear(&queue->target);
    step_batch_destroy(queue->batch);
    free(queue);
}

void step_queue_start(struct step_queue *queue)
{
    const char *weakness = queue->client ? http_client_weakness() : NULL;

    if (weakness)
        target_say(&queue->target, LOG_LEVEL_WARNING, "%s %s: %s", queue->target.what,
                   queue->target.name, weakness);
    queue->started = true;
    target_wake_in(&queue->target, backoff_random(queue->options.delay_ns));
}

void step_queue_stop(struct step_queue *queue)
{
    target_stop(&queue->target);
}

bool step_queue_is_idle(const struct step_queue *queue)
{
    return !queue->reading && !queue->batch;
}

/* --- status ----------------------------------------------------------------------------------- */

void step_queue_counts(const struct step_queue *queue, struct step_queue_counts *ret)
{
    const struct target *target = &queue->target;

    *ret = (struct step_queue_counts){target->requests, target->failures, target->last_success_s};
}

struct json_object *step_queue_status(const struct step_queue *queue)
{
    struct tree tree = {.failed = false};
    struct json_object *status = target_status(&tree, &queue->target, "sending", "requests");

    tree_put_text(&tree, status, "format", queue->target.kind->name);
    tree_put_u64(&tree, status, "steps", queue->steps);
    tree_put_u64(&tree, status, "rows", queue->rows);
    tree_put_u64(&tree, status, "refusals", queue->refusals);
    tree_put_u64(&tree, status, "held", queue->search.n_held);
    return tree_end(&tree, status);
}
