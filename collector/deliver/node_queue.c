/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collector/deliver/node_queue_impl.h"
#include "collector/deliver/pushgateway.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define MISSED_MAX 3 /* answers without a job before it is given up */

uint64_t deliver_real_ns(const struct deliver *deliver)
{
    return deliver->options.realtime_ns ? deliver->options.realtime_ns() : clock_ns(CLOCK_REALTIME);
}

void deliver_defaults(struct deliver_options *options)
{
    *options = (struct deliver_options){
        .interval_ns = NS_PER_MINUTE,
        .gap_ns = 5 * NS_PER_S,
        .spread_ns = NS_PER_S / 2,
        .first_ns = 10 * NS_PER_S,
        .linger_ns = 5 * NS_PER_MINUTE,
        .backoff_ns = 5 * NS_PER_S,
        .slow_ns = 15 * NS_PER_MINUTE,
        .say_ns = NS_PER_MINUTE,
        .connect_timeout_ns = 3 * NS_PER_S,
        .timeout_ns = 15 * NS_PER_S,
        .max_ended = 1000,
    };
}

uint64_t deliver_linger(uint64_t scrape_interval_ns)
{
    return max_u64(3 * scrape_interval_ns, 5 * NS_PER_MINUTE);
}

void deliver_say(struct deliver *deliver, enum log_level level, const char *format, ...)
{
    char text[1024];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    deliver->hooks.say(level, text, deliver->hooks.arg);
}

/* What cannot be kept for lack of memory is still delivered, unless the process ends before. */
void deliver_keep(struct deliver *deliver, const struct outbox_job *job, bool forget)
{
    _free_ char *key = outbox_key(DELIVER_STATE_PREFIX, job);
    _free_ char *value = forget ? NULL : outbox_value(deliver->outbox, job);

    if (key && (value || forget))
        deliver->hooks.keep(key, value, deliver->hooks.arg);
    else
        deliver_say(deliver, LOG_LEVEL_ERROR, "deliver: no memory to keep job %u", job->key.jobid);
}

/* Forget what is everywhere and has been shown long enough. */
static void drop_done(struct deliver *deliver)
{
    struct outbox_job *next;

    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = next) {
        next = outbox_next(job);
        if (!outbox_is_done(deliver->outbox, job))
            continue;
        deliver_keep(deliver, job, true);
        outbox_remove(deliver->outbox, job);
    }
}

/* Mark what the target has to show; return how many were not yet marked. */
static size_t ask_for(const struct target *target)
{
    const struct deliver *deliver = target->deliver;
    size_t wanted = 0, n = 0;

    for (struct outbox_job *job = outbox_first(deliver->outbox);
         job && wanted < deliver->options.max_ended; job = outbox_next(job)) {
        if (job->slots[target->index].state == OUTBOX_DONE)
            continue;
        wanted++;
        n += !job->asked;
        job->asked = true;
    }
    return n;
}

void deliver_gather(struct deliver *deliver)
{
    _free_ struct job_key *keys = NULL;
    size_t n = 0, at = 0;

    if (deliver->gathering)
        return;
    for (size_t i = 0; i < deliver->n_targets; i++) {
        struct target *target = &deliver->targets[i];

        target->asked = target->queued;
        target->queued = false;
        if (!target->asked)
            continue;
        target->dirty = false;
        outbox_expire(deliver->outbox, i, deliver_real_ns(deliver), deliver->options.linger_ns);
    }
    drop_done(deliver);
    for (size_t i = 0; i < deliver->n_targets; i++)
        n += deliver->targets[i].asked ? ask_for(&deliver->targets[i]) : 0;
    deliver->gathering = true;
    keys = calloc(n + 1, sizeof(*keys));
    if (!keys) {
        struct error error;

        error_errno(&error, -ENOMEM, "gather the accounts");
        deliver_provide(deliver, NULL, &error);
        return;
    }
    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = outbox_next(job))
        if (job->asked)
            keys[at++] = job->key;
    deliver->hooks.collect(keys, n, deliver->hooks.arg);
}

/* Retention may have dropped a job that no gateway took for months. One answer without it proves
 * nothing: the job may be on its way from the daemon's memory into the store. */
static void give_up_missing(struct deliver *deliver)
{
    struct outbox_job *next;

    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = next) {
        next = outbox_next(job);
        if (job->found)
            job->missed = 0;
        if (!job->asked || job->found || ++job->missed < MISSED_MAX)
            continue;
        deliver->given_up++;
        deliver_say(deliver, LOG_LEVEL_WARNING,
                    "deliver: job %u is no longer in the store, not delivered", job->key.jobid);
        deliver_keep(deliver, job, true);
        outbox_remove(deliver->outbox, job);
    }
}

static void match(struct deliver *deliver, const struct prometheus_node *node)
{
    for (size_t i = 0; i < node->n_jobs; i++) {
        struct outbox_job *job = outbox_find(deliver->outbox, &node->jobs[i]->key);

        if (job)
            job->found = node->jobs[i];
    }
}

void deliver_provide(struct deliver *deliver, const struct prometheus_node *node,
                     const struct error *why)
{
    if (!deliver->gathering)
        return;
    deliver->gathering = false;
    if (node) {
        match(deliver, node);
        give_up_missing(deliver);
    }
    for (size_t i = 0; i < deliver->n_targets; i++) {
        struct target *target = &deliver->targets[i];

        if (target->asked && !deliver->retired && node)
            target_push(target, node);
        else if (target->asked && !deliver->retired)
            target_unable(target, why ? why->text : "no accounts");
        target->asked = false;
        if (target->queued)
            target_requeue(target);
    }
    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = outbox_next(job)) {
        job->asked = false;
        job->found = NULL;
    }
}

int deliver_job_ended(struct deliver *deliver, const struct job_key *key)
{
    struct outbox_job *job;

    if (deliver->n_targets == 0)
        return 0;
    job = outbox_add(deliver->outbox, key, deliver_real_ns(deliver));
    if (!job)
        return -ENOMEM;
    deliver_keep(deliver, job, false);
    if (deliver->started && !deliver->retired)
        for (size_t i = 0; i < deliver->n_targets; i++)
            target_hurry(&deliver->targets[i]);
    return 0;
}

int deliver_restore(struct deliver *deliver, const char *key, const char *value,
                    struct error *error)
{
    if (strncmp(key, DELIVER_STATE_PREFIX, strlen(DELIVER_STATE_PREFIX)) != 0)
        return error_set(error, -EBADMSG, "\"%s\" is no key of delivery", key);
    return deliver->n_targets ? outbox_restore(deliver->outbox, value, error) : 0;
}

int deliver_start(struct deliver *deliver, struct error *error)
{
    const char *weakness = http_client_weakness();

    (void)error;
    deliver->started = true;
    if (deliver->n_targets && weakness)
        deliver_say(deliver, LOG_LEVEL_WARNING, "deliver: %s", weakness);
    for (size_t i = 0; i < deliver->n_targets; i++)
        target_start(&deliver->targets[i]);
    return 0;
}

static int check_options(const struct deliver_options *options, struct error *error)
{
    int rc = http_access_check(&options->access, error);

    for (size_t i = 0; rc == 0 && i < options->n_urls; i++)
        rc = http_check_url(options->urls[i], error);
    return rc;
}

static int create_client(struct deliver *deliver, sd_event *loop,
                         const struct deliver_options *options, struct error *error)
{
    struct http_client_options http = {
        .access = options->access,
        .connect_timeout_ns = options->connect_timeout_ns,
        .timeout_ns = options->timeout_ns,
    };

    return http_client_create(&deliver->client, loop, &http, error);
}

static int create_targets(struct deliver *deliver, sd_event *loop,
                          const struct deliver_options *options, struct error *error)
{
    for (size_t i = 0; i < options->n_urls; i++) {
        struct target *target = &deliver->targets[deliver->n_targets++];
        int rc;

        target->index = i;
        rc = target_init(target, deliver, loop, options->urls[i], options);
        if (rc < 0)
            return error_errno(error, rc, "deliver to \"%s\"", options->urls[i]);
    }
    return 0;
}

int deliver_create(struct deliver **ret, sd_event *loop, const struct deliver_options *options,
                   const struct deliver_hooks *hooks, struct error *error)
{
    struct deliver *deliver;
    int rc = check_options(options, error);

    if (rc < 0)
        return rc;
    deliver = calloc(1, sizeof(*deliver) + options->n_urls * sizeof(*deliver->targets));
    if (!deliver)
        return error_errno(error, -ENOMEM, "deliver");
    deliver->hooks = *hooks;
    deliver->options = *options;
    deliver->outbox = outbox_create(options->urls, options->n_urls);
    rc = deliver->outbox ? 0 : error_errno(error, -ENOMEM, "deliver");
    if (rc == 0 && options->n_urls > 0)
        rc = create_client(deliver, loop, options, error);
    if (rc == 0)
        rc = create_targets(deliver, loop, options, error);
    if (rc < 0) {
        deliver_destroy(deliver);
        return rc;
    }
    *ret = deliver;
    return 0;
}

void deliver_destroy(struct deliver *deliver)
{
    if (!deliver)
        return;
    http_client_destroy(deliver->client);
    for (size_t i = 0; i < deliver->n_targets; i++)
        target_clear(&deliver->targets[i]);
    outbox_destroy(deliver->outbox);
    if (deliver->retire.text)
        (void)fclose(deliver->retire.text);
    free(deliver->retire.buffer);
    free(deliver);
}

static void retire_finish(struct deliver *deliver)
{
    _free_ char *text = NULL;

    (void)fclose(deliver->retire.text);
    deliver->retire.text = NULL;
    text = TAKE_PTR(deliver->retire.buffer);
    deliver->retire.done(text ? text : "", deliver->retire.failed, deliver->retire.arg);
}

void deliver_retired(struct target *target, bool failed, const char *text)
{
    struct deliver *deliver = target->deliver;

    fprintf(deliver->retire.text, "%s: %s\n", target->url, text);
    deliver->retire.failed += failed;
    if (--deliver->retire.left == 0)
        retire_finish(deliver);
}

int deliver_retire(struct deliver *deliver, deliver_retired_f done, void *arg)
{
    if (deliver->retire.text)
        return -EALREADY;
    deliver->retire.text = open_memstream(&deliver->retire.buffer, &deliver->retire.size);
    if (!deliver->retire.text)
        return -ENOMEM;
    deliver->retired = true;
    deliver->retire.done = done;
    deliver->retire.arg = arg;
    deliver->retire.failed = 0;
    deliver->retire.left = deliver->n_targets;
    if (deliver->n_targets == 0)
        retire_finish(deliver);
    for (size_t i = 0; i < deliver->n_targets; i++)
        target_retire(&deliver->targets[i]);
    return 0;
}

struct json_object *deliver_status(const struct deliver *deliver)
{
    struct json_object *status = json_object_new_object();
    struct json_object *targets = json_object_new_array();

    json_object_object_add(status, "retired", json_object_new_boolean(deliver->retired));
    json_object_object_add(status, "given_up", json_object_new_int64((int64_t)deliver->given_up));
    for (size_t i = 0; i < deliver->n_targets; i++)
        json_object_array_add(targets, target_status(&deliver->targets[i]));
    json_object_object_add(status, "targets", targets);
    return status;
}

size_t deliver_targets(const struct deliver *deliver)
{
    return deliver->n_targets;
}

void deliver_stats(const struct deliver *deliver, size_t n, struct deliver_stats *ret)
{
    const struct target *target = &deliver->targets[n];

    *ret = (struct deliver_stats){
        .url = target->url,
        .pushes = target->pushes,
        .failures = target->failures,
        .last_success_s = target->last_success_s,
    };
    for (struct outbox_job *job = outbox_first(deliver->outbox); job; job = outbox_next(job)) {
        if (job->slots[n].state != OUTBOX_PENDING)
            continue;
        if (!ret->pending++)
            ret->oldest_ns = job->ended_ns;
    }
}
