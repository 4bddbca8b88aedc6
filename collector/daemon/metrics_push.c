/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/metrics_push.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/degraded.h"
#include "collector/daemon/node_state.h"
#include "collector/daemon/notes.h"
#include "collector/daemon/target_access.h"
#include "collector/deliver/node_queue.h"
#include "collector/store/store.h"
#include "common/cleanup.h"

struct metrics_push {
    struct node_queue *queue;
    struct notes *notes;
    struct node_state *node_state;
    struct request *retiring; /* waits for the gateways; NULL: none */
};

static void keep(const char *key, const char *value, void *arg)
{
    struct metrics_push *push = arg;

    notes_put(push->notes, key, value);
}

/* --- the state of the node -------------------------------------------------------------------- */

static void on_collected(const struct node_reading *collected, const struct error *why, void *arg)
{
    struct metrics_push *push = arg;

    node_queue_provide(push->queue, collected ? &collected->node : NULL, why);
}

static void collect(const struct job_key *ended, size_t n, void *arg)
{
    struct metrics_push *push = arg;

    node_state_load(push->node_state, &(struct node_query){.ended = ended, .n_ended = n},
                    on_collected, push);
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

/* --- start ------------------------------------------------------------------------------------ */

static int restore(const char *key, const char *value, void *arg)
{
    struct metrics_push *push = arg;
    struct error error;

    if (node_queue_restore(push->queue, key, value, &error) < 0)
        log_warning("deliver: \"%s\" is ignored: %s", key, error.text);
    return 0;
}

static void fill_options(const struct settings *settings, const char *node,
                         struct node_queue_options *o)
{
    node_queue_defaults(o);
    o->cluster = settings->cluster;
    o->instance = node;
    o->urls = (const char *const *)settings->push.urls.items;
    o->n_urls = settings->push.urls.n;
    o->access = target_access(&settings->push.access);
    o->interval_ns = settings->push.interval_ns;
    o->linger_ns = settings->push.linger_ns;
    o->timeout_ns = settings->push.timeout_ns;
}

void metrics_push_destroy(struct metrics_push *push)
{
    if (!push)
        return;
    node_queue_destroy(push->queue);
    if (push->retiring)
        request_error(push->retiring, "jobiod is stopping");
    free(push);
}
DEFINE_CLEANUP(struct metrics_push, metrics_push_destroy)

/* Only an unusable URL is left out, so that the others get their metrics. Returns the usable ones,
 * in an array that the caller frees; NULL: out of memory. */
static const char **drop_unusable_urls(struct node_queue_options *queue, struct degraded *degraded)
{
    const char **urls = calloc(queue->n_urls + 1, sizeof(*urls));
    struct error error, why;
    size_t n = 0;

    for (size_t i = 0; urls && i < queue->n_urls; i++) {
        if (node_queue_check_url(queue, queue->urls[i], &error) == 0)
            urls[n++] = queue->urls[i];
        else if (i == n)
            why = error;
    }
    if (!urls || n == queue->n_urls)
        return urls;
    (void)error_set(&error, -EINVAL, "%zu of %zu URLs not used: %s", queue->n_urls - n,
                    queue->n_urls, why.text);
    degraded_set(degraded, DEGRADED_PUSH, &error);
    queue->urls = urls;
    queue->n_urls = n;
    return urls;
}

int metrics_push_create(struct metrics_push **ret, const struct metrics_push_options *options,
                        struct error *error)
{
    CLEANUP(metrics_push_destroyp) struct metrics_push *push = calloc(1, sizeof(*push));
    const struct node_queue_hooks hooks = {collect, keep, say, push};
    struct node_queue_options queue;
    _free_ const char **urls = NULL;
    int r;

    if (!push)
        return error_set(error, -ENOMEM, "no memory");
    push->notes = options->notes;
    push->node_state = options->node_state;
    fill_options(options->settings, options->node, &queue);
    if (options->degraded && !(urls = drop_unusable_urls(&queue, options->degraded)))
        return error_set(error, -ENOMEM, "no memory");
    r = node_queue_create(&push->queue, options->loop, &queue, &hooks, error);
    if (r < 0)
        r = error_prefix(error, r, "[push]");
    if (r < 0 && options->degraded) {
        degraded_set(options->degraded, DEGRADED_PUSH, error);
        queue.n_urls = 0;
        queue.access = (struct http_access){0};
        r = node_queue_create(&push->queue, options->loop, &queue, &hooks, error);
    }
    if (!r && options->store)
        r = store_each_state(options->store, NODE_QUEUE_STATE_PREFIX, restore, push, error);
    if (r < 0)
        return r;
    *ret = TAKE_PTR(push);
    return 0;
}

struct node_queue *metrics_push_queue(const struct metrics_push *push)
{
    return push->queue;
}

/* --- retire ----------------------------------------------------------------------------------- */

/* `text` has one line per gateway; an error must be a single line. */
static void on_retired(const char *text, size_t failed, void *arg)
{
    struct metrics_push *push = arg;
    struct request *request = TAKE_PTR(push->retiring);
    char *copy = strdup(text);

    for (char *c = copy; failed && c && *c; c++)
        if (*c == '\n')
            *c = c[1] ? ';' : '\0';
    if (!copy)
        request_error(request, "no memory");
    else if (!failed)
        request_text(request, TAKE_PTR(copy), false);
    else
        request_error(request, "%s", copy);
    free(copy);
}

void metrics_push_retire(struct metrics_push *push, struct request *request)
{
    int r;

    if (push->retiring) {
        request_error(request, "a retirement is under way already");
        return;
    }
    push->retiring = request;
    r = node_queue_retire(push->queue, on_retired, push);
    if (r < 0)
        request_error(TAKE_PTR(push->retiring), "cannot retire: %s", strerror(-r));
}
