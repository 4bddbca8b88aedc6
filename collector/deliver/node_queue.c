/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collector/deliver/node_queue_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/tree.h"

#define MISSED_MAX 3 /* answers without a job before it is given up */

static uint64_t real_ns(const struct node_queue *queue)
{
    return queue->options.realtime_ns ? queue->options.realtime_ns() : clock_ns(CLOCK_REALTIME);
}

void node_queue_defaults(struct node_queue_options *options)
{
    *options = (struct node_queue_options){
        .interval_ns = 60 * NS_PER_S,
        .gap_ns = 5 * NS_PER_S,
        .spread_ns = NS_PER_S / 2,
        .first_ns = 10 * NS_PER_S,
        .linger_ns = 300 * NS_PER_S,
        .backoff_ns = 5 * NS_PER_S,
        .slow_ns = 900 * NS_PER_S,
        .say_ns = 60 * NS_PER_S,
        .connect_timeout_ns = 3 * NS_PER_S,
        .timeout_ns = 15 * NS_PER_S,
        .max_ended = 1000,
    };
}

uint64_t node_queue_linger(uint64_t scrape_interval_ns)
{
    uint64_t least = 300 * NS_PER_S;

    return 3 * scrape_interval_ns > least ? 3 * scrape_interval_ns : least;
}

static void say(struct node_queue *queue, enum log_level level, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    queue->hooks.say(level, text, queue->hooks.arg);
}

/* Forget the jobs that all gateways have acknowledged and shown long enough. */
static void drop_done(struct node_queue *queue)
{
    struct outbox_job *next;

    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = next) {
        next = outbox_next(job);
        if (!outbox_is_done(queue->outbox, job))
            continue;
        node_target_keep(queue, job, true);
        outbox_remove(queue->outbox, job);
    }
}

/* Mark the jobs that the gateway has to show. Returns how many were not yet marked. */
static size_t mark_jobs(const struct node_target *gateway)
{
    const struct node_queue *queue = gateway->queue;
    size_t wanted = 0, n = 0;

    for (struct outbox_job *job = outbox_first(queue->outbox);
         job && wanted < queue->options.max_ended; job = outbox_next(job)) {
        if (job->slots[gateway->index].state == OUTBOX_DONE)
            continue;
        wanted++;
        n += !job->asked;
        job->asked = true;
    }
    return n;
}

static void gather(struct node_queue *queue)
{
    _free_ struct job_key *keys = NULL;
    size_t n = 0, at = 0;

    if (queue->gathering)
        return;
    for (size_t i = 0; i < queue->n_gateways; i++) {
        struct node_target *gateway = &queue->gateways[i];

        gateway->asked = gateway->queued;
        gateway->queued = false;
        if (!gateway->asked)
            continue;
        gateway->dirty = false;
        outbox_expire(queue->outbox, i, real_ns(queue), queue->options.linger_ns);
    }
    drop_done(queue);
    for (size_t i = 0; i < queue->n_gateways; i++)
        n += queue->gateways[i].asked ? mark_jobs(&queue->gateways[i]) : 0;
    queue->gathering = true;
    keys = calloc(n + 1, sizeof(*keys));
    if (!keys) {
        struct error error;

        error_errno(&error, -ENOMEM, "gather the accounts");
        node_queue_provide(queue, NULL, &error);
        return;
    }
    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = outbox_next(job))
        if (job->asked)
            keys[at++] = job->key;
    queue->hooks.collect(keys, n, queue->hooks.arg);
}

/* Retention may have dropped a job that no gateway took for months. One answer without it proves
 * nothing: the job may be on its way from the daemon's memory into the store. */
static void give_up_missing(struct node_queue *queue)
{
    struct outbox_job *next;

    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = next) {
        next = outbox_next(job);
        if (job->found)
            job->missed = 0;
        if (!job->asked || job->found || ++job->missed < MISSED_MAX)
            continue;
        queue->given_up++;
        say(queue, LOG_LEVEL_WARNING, "deliver: job %u is no longer in the store, not delivered",
            job->key.jobid);
        node_target_keep(queue, job, true);
        outbox_remove(queue->outbox, job);
    }
}

static void match(struct node_queue *queue, const struct prometheus_node *node)
{
    for (size_t i = 0; i < node->n_jobs; i++) {
        struct outbox_job *job = outbox_find(queue->outbox, &node->jobs[i]->key);

        if (job)
            job->found = node->jobs[i];
    }
}

void node_queue_provide(struct node_queue *queue, const struct prometheus_node *node,
                        const struct error *why)
{
    if (!queue->gathering)
        return;
    queue->gathering = false;
    queue->node = node;
    if (node) {
        match(queue, node);
        give_up_missing(queue);
    }
    for (size_t i = 0; i < queue->n_gateways; i++) {
        struct node_target *gateway = &queue->gateways[i];

        if (gateway->asked && !queue->retired && node)
            node_target_push(gateway);
        else if (gateway->asked && !queue->retired)
            node_target_fail(gateway, why ? why->text : "no accounts");
        gateway->asked = false;
        if (gateway->queued) /* it became due during this collection */
            target_wake_in(&gateway->target, 0);
    }
    queue->node = NULL;
    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = outbox_next(job)) {
        job->asked = false;
        job->found = NULL;
    }
}

int node_queue_job_ended(struct node_queue *queue, const struct job_key *key)
{
    struct outbox_job *job;

    if (queue->n_gateways == 0)
        return 0;
    job = outbox_add(queue->outbox, key, real_ns(queue));
    if (!job)
        return -ENOMEM;
    node_target_keep(queue, job, false);
    if (queue->started && !queue->retired)
        for (size_t i = 0; i < queue->n_gateways; i++)
            node_target_job_ended(&queue->gateways[i]);
    return 0;
}

int node_queue_restore(struct node_queue *queue, const char *key, const char *value,
                       struct error *error)
{
    if (strncmp(key, NODE_QUEUE_STATE_PREFIX, strlen(NODE_QUEUE_STATE_PREFIX)) != 0)
        return error_set(error, -EBADMSG, "\"%s\" is not a key of delivery", key);
    return queue->n_gateways ? outbox_restore(queue->outbox, value, error) : 0;
}

int node_queue_start(struct node_queue *queue, struct error *error)
{
    const char *weakness = http_client_weakness();

    (void)error;
    queue->started = true;
    if (queue->n_gateways && weakness)
        say(queue, LOG_LEVEL_WARNING, "deliver: %s", weakness);
    for (size_t i = 0; i < queue->n_gateways; i++)
        node_target_start(&queue->gateways[i]);
    return 0;
}

static void retire_finish(struct node_queue *queue)
{
    _free_ char *text = NULL;

    (void)fclose(queue->retire.text);
    queue->retire.text = NULL;
    text = TAKE_PTR(queue->retire.buffer);
    queue->retire.done(text ? text : "", queue->retire.failed, queue->retire.arg);
}

static void on_retired(struct node_target *gateway, bool failed, const char *text)
{
    struct node_queue *queue = gateway->queue;

    fprintf(queue->retire.text, "%s: %s\n", gateway->target.name, text);
    queue->retire.failed += failed;
    if (--queue->retire.left == 0)
        retire_finish(queue);
}

int node_queue_check_url(const struct node_queue_options *options, const char *url,
                         struct error *error)
{
    int rc = http_check_url(url, error);

    return rc < 0 ? rc : http_check_password(&options->access, url, error);
}

static int check_options(const struct node_queue_options *options, struct error *error)
{
    int rc = http_access_check(&options->access, error);

    for (size_t i = 0; rc == 0 && i < options->n_urls; i++)
        rc = node_queue_check_url(options, options->urls[i], error);
    return rc;
}

static int create_client(struct node_queue *queue, sd_event *loop,
                         const struct node_queue_options *options, struct error *error)
{
    struct http_client_options http = {
        .access = options->access,
        .connect_timeout_ns = options->connect_timeout_ns,
        .timeout_ns = options->timeout_ns,
    };

    return http_client_create(&queue->client, loop, &http, error);
}

static int create_gateways(struct node_queue *queue, sd_event *loop,
                           const struct node_queue_options *options, struct error *error)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < options->n_urls; i++) {
        struct node_target *gateway = &queue->gateways[queue->n_gateways++];

        gateway->queue = queue;
        gateway->index = i;
        rc = node_target_init(gateway, loop, options->urls[i], options, error);
    }
    return rc;
}

int node_queue_create(struct node_queue **ret, sd_event *loop,
                      const struct node_queue_options *options,
                      const struct node_queue_hooks *hooks, struct error *error)
{
    struct node_queue *queue;
    int rc = check_options(options, error);

    if (rc < 0)
        return rc;
    queue = calloc(1, sizeof(*queue) + options->n_urls * sizeof(*queue->gateways));
    if (!queue)
        return error_errno(error, -ENOMEM, "deliver");
    queue->hooks = *hooks;
    queue->target_hooks = (struct node_target_hooks){gather, on_retired};
    queue->options = *options;
    queue->outbox = outbox_create(options->urls, options->n_urls);
    rc = queue->outbox ? 0 : error_errno(error, -ENOMEM, "deliver");
    if (rc == 0 && options->n_urls > 0)
        rc = create_client(queue, loop, options, error);
    if (rc == 0)
        rc = create_gateways(queue, loop, options, error);
    if (rc < 0) {
        node_queue_destroy(queue);
        return rc;
    }
    *ret = queue;
    return 0;
}

void node_queue_destroy(struct node_queue *queue)
{
    if (!queue)
        return;
    http_client_destroy(queue->client);
    for (size_t i = 0; i < queue->n_gateways; i++)
        node_target_clear(&queue->gateways[i]);
    outbox_destroy(queue->outbox);
    if (queue->retire.text)
        (void)fclose(queue->retire.text);
    free(queue->retire.buffer);
    free(queue);
}

int node_queue_retire(struct node_queue *queue, node_queue_retired_f done, void *arg)
{
    if (queue->retire.text)
        return -EALREADY;
    queue->retire.text = open_memstream(&queue->retire.buffer, &queue->retire.size);
    if (!queue->retire.text)
        return -ENOMEM;
    queue->retired = true;
    queue->retire.done = done;
    queue->retire.arg = arg;
    queue->retire.failed = 0;
    queue->retire.left = queue->n_gateways;
    if (queue->n_gateways == 0)
        retire_finish(queue);
    for (size_t i = 0; i < queue->n_gateways; i++)
        node_target_retire(&queue->gateways[i]);
    return 0;
}

struct json_object *node_queue_status(const struct node_queue *queue)
{
    struct tree tree = {.failed = false};
    struct json_object *status = tree_object(&tree), *targets = tree_array(&tree);

    tree_put_bool(&tree, status, "retired", queue->retired);
    tree_put_u64(&tree, status, "given_up", queue->given_up);
    for (size_t i = 0; i < queue->n_gateways; i++)
        tree_add(&tree, targets, node_target_status(&tree, &queue->gateways[i]));
    tree_put(&tree, status, "targets", targets);
    return tree_end(&tree, status);
}

size_t node_queue_targets(const struct node_queue *queue)
{
    return queue->n_gateways;
}

void node_queue_stats(const struct node_queue *queue, size_t n, struct node_queue_stats *ret)
{
    const struct target *target = &queue->gateways[n].target;

    *ret = (struct node_queue_stats){
        .url = target->name,
        .pushes = target->requests,
        .failures = target->failures,
        .last_success_s = target->last_success_s,
    };
    for (struct outbox_job *job = outbox_first(queue->outbox); job; job = outbox_next(job)) {
        if (job->slots[n].state != OUTBOX_PENDING)
            continue;
        if (!ret->pending++)
            ret->oldest_ns = job->ended_ns;
    }
}
