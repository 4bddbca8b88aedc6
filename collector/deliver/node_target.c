/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "collector/deliver/kinds.h"
#include "collector/deliver/node_queue_impl.h"
#include "collector/http/backoff.h"
#include "collector/http/gzip.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"

/* When to push because a job has ended. */
static uint64_t end_due(const struct node_target *gateway)
{
    const struct node_queue_options *options = &gateway->queue->options;
    uint64_t due = clock_ns(CLOCK_BOOTTIME) + backoff_random(options->spread_ns);
    uint64_t least = gateway->target.started_ns + options->gap_ns;

    return gateway->target.started_ns && due < least ? least : due;
}

/* --- one push --------------------------------------------------------------------------------- */

static void on_due(struct target *target)
{
    struct node_target *gateway = target->owner;

    if (gateway->queue->retired || target->busy || gateway->asked)
        return;
    gateway->queued = true;
    gateway->queue->target_hooks.gather(gateway->queue);
}

/* The jobs of the body for one gateway: all running ones, and the first ended ones that it still
 * has to show. */
static size_t select_jobs(struct node_target *gateway, const struct job_account **ret)
{
    const struct node_queue *queue = gateway->queue;
    const struct prometheus_node *node = queue->node;
    size_t n = 0, ended = 0;

    for (size_t i = 0; i < node->n_jobs; i++)
        if (!node->jobs[i]->ended)
            ret[n++] = node->jobs[i];
    for (struct outbox_job *job = outbox_first(queue->outbox);
         job && ended < queue->options.max_ended; job = outbox_next(job)) {
        const struct job_account *found = job->found;
        struct outbox_slot *slot = &job->slots[gateway->index];

        if (!found || !found->ended || slot->state == OUTBOX_DONE)
            continue;
        slot->sent = true;
        ret[n++] = found;
        ended++;
    }
    return n;
}

static int make_body(struct target *target, void **ret, size_t *size, struct error *error)
{
    struct node_target *gateway = target->owner;
    struct prometheus_node part = *gateway->queue->node;
    _free_ const struct job_account **jobs = calloc(part.n_jobs + 1, sizeof(*jobs));
    _free_ char *text = NULL;

    if (!jobs)
        return error_errno(error, -ENOMEM, "body");
    part.n_jobs = select_jobs(gateway, jobs);
    part.jobs = jobs;
    text = target->kind->write_node(&part);
    if (!text)
        return error_errno(error, -ENOMEM, "body");
    *size = strlen(text);
    if (target->kind->compress)
        return gzip_compress(text, *size, ret, size) < 0 ? error_errno(error, -ENOMEM, "body") : 0;
    *ret = TAKE_PTR(text);
    return 0;
}

/* A job that cannot be kept for lack of memory is still delivered, unless the process ends first.
 */
void node_target_keep(struct node_queue *queue, const struct outbox_job *job, bool forget)
{
    _free_ char *key = outbox_key(NODE_QUEUE_STATE_PREFIX, job);
    _free_ char *value = forget ? NULL : outbox_value(queue->outbox, job);

    if (key && (value || forget))
        queue->hooks.keep(key, value, queue->hooks.arg);
    else
        queue->hooks.say(LOG_LEVEL_ERROR, "deliver: out of memory: a job is not kept",
                         queue->hooks.arg);
}

static void acknowledge(struct node_target *gateway)
{
    struct target *target = &gateway->target;
    struct node_queue *queue = gateway->queue;
    uint64_t now = target_real_ns(target);

    target_worked(target);
    target->last_success_s = now / NS_PER_S;
    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = outbox_next(job)) {
        struct outbox_slot *slot = &job->slots[gateway->index];

        if (!slot->sent)
            continue;
        slot->sent = false;
        if (slot->state != OUTBOX_PENDING)
            continue;
        slot->state = OUTBOX_LINGERING;
        slot->acked_ns = now;
        node_target_keep(queue, job, false);
    }
    target_wake_at(target, gateway->dirty
                               ? end_due(gateway)
                               : target->started_ns + backoff_jittered(queue->options.interval_ns));
}

static void fail(struct node_target *gateway, enum target_state state, uint64_t retry_after_s,
                 const char *why)
{
    struct node_queue *queue = gateway->queue;
    const struct target_failure failure = {
        .state = state,
        .retry_after_s = retry_after_s,
        .not_before_ns = gateway->target.started_ns + queue->options.gap_ns,
        .why = why,
    };

    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = outbox_next(job))
        job->slots[gateway->index].sent = false;
    target_failed(&gateway->target, &failure);
}

static void retire(struct node_target *gateway);

static void settle(struct target *target, const struct target_result *result)
{
    struct node_target *gateway = target->owner;
    enum target_state state = result->answer == ANSWER_REFUSED         ? TARGET_REJECTED
                              : result->answer == ANSWER_MISCONFIGURED ? TARGET_MISCONFIGURED
                                                                       : TARGET_BACKOFF;

    if (result->answer == ANSWER_OK)
        acknowledge(gateway);
    else
        fail(gateway, state, result->retry_after_s, result->why);
    if (gateway->retiring)
        retire(gateway);
}

static void say(struct target *target, enum log_level level, const char *text)
{
    const struct node_target *gateway = target->owner;

    gateway->queue->hooks.say(level, text, gateway->queue->hooks.arg);
}

static const struct target_queue queue_of_gateway = {
    .due = on_due, .body = make_body, .settle = settle, .say = say};

void node_target_push(struct node_target *gateway)
{
    target_send(&gateway->target, 0);
}

void node_target_fail(struct node_target *gateway, const char *why)
{
    gateway->target.last_code = 0;
    fail(gateway, TARGET_BACKOFF, 0, why);
}

/* --- deletion --------------------------------------------------------------------------------- */

static void on_removed(struct target *target, const char *why)
{
    const struct node_target *gateway = target->owner;

    gateway->queue->target_hooks.retired(target->owner, why != NULL, why ? why : "deleted");
}

static void retire(struct node_target *gateway)
{
    gateway->retiring = false;
    if (gateway->target.kind->remove)
        target_remove(&gateway->target, on_removed);
    else
        gateway->queue->target_hooks.retired(gateway, false,
                                             "nothing to delete: its series end by themselves");
}

void node_target_retire(struct node_target *gateway)
{
    gateway->queued = false;
    if (gateway->target.busy)
        gateway->retiring = true;
    else
        retire(gateway);
}

/* --- start and end ---------------------------------------------------------------------------- */

void node_target_job_ended(struct node_target *gateway)
{
    struct target *target = &gateway->target;
    uint64_t due = end_due(gateway);

    gateway->dirty = true;
    if (!target->busy && !gateway->asked && !gateway->queued && target->failures_in_a_row == 0 &&
        due < target->due_ns)
        target_wake_at(target, due);
}

void node_target_start(struct node_target *gateway)
{
    target_wake_in(&gateway->target, backoff_random(gateway->queue->options.first_ns));
}

int node_target_init(struct node_target *gateway, sd_event *loop, const char *url,
                     const struct node_queue_options *options, struct error *error)
{
    const struct target_options to = {
        .url = url, .cluster = options->cluster, .instance = options->instance};
    struct target *target = &gateway->target;

    target->kind = target_kind_of_url(url);
    target->queue = &queue_of_gateway;
    target->owner = gateway;
    target->what = "push to";
    target->client = gateway->queue->client;
    target->pace = (struct target_pace){options->backoff_ns, options->slow_ns, options->say_ns,
                                        options->realtime_ns};
    return target_init(target, loop, NULL, &to, error);
}

void node_target_clear(struct node_target *gateway)
{
    target_clear(&gateway->target);
}

struct json_object *node_target_status(struct tree *tree, const struct node_target *gateway)
{
    struct json_object *status = target_status(tree, &gateway->target, "pushing", "pushes");
    struct outbox_job *job = outbox_first(gateway->queue->outbox);
    uint64_t pending = 0, lingering = 0;

    for (; job; job = outbox_next(job)) {
        pending += job->slots[gateway->index].state == OUTBOX_PENDING;
        lingering += job->slots[gateway->index].state == OUTBOX_LINGERING;
    }
    tree_put_u64(tree, status, "pending", pending);
    tree_put_u64(tree, status, "lingering", lingering);
    return status;
}
