/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the pushes of metrics need from the daemon: the state of the node, and a place to keep what
 * is not yet acknowledged. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/daemon/target_access.h"
#include "collector/store/store.h"
#include "common/cleanup.h"

static void keep(const char *key, const char *value, void *arg)
{
    struct daemon *daemon = arg;

    notes_put(daemon->notes, key, value);
}

/* --- the state of the node -------------------------------------------------------------------- */

static void on_collected(const struct node_reading *collected, const struct error *why, void *arg)
{
    struct daemon *daemon = arg;

    node_queue_provide(daemon->deliver, collected ? &collected->node : NULL, why);
}

static void collect(const struct job_key *ended, size_t n, void *arg)
{
    struct daemon *daemon = arg;

    node_state_load(daemon->node_state, &(struct node_query){.ended = ended, .n_ended = n},
                    on_collected, daemon);
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

/* --- start ------------------------------------------------------------------------------------ */

static int restore(const char *key, const char *value, void *arg)
{
    struct daemon *daemon = arg;
    struct error error;

    if (node_queue_restore(daemon->deliver, key, value, &error) < 0)
        log_warning("deliver: \"%s\" is ignored: %s", key, error.text);
    return 0;
}

static void fill_options(const struct daemon *daemon, struct node_queue_options *o)
{
    const struct settings *settings = daemon->settings;

    node_queue_defaults(o);
    o->cluster = settings->cluster;
    o->instance = daemon->node;
    o->urls = (const char *const *)settings->push.urls.items;
    o->n_urls = settings->push.urls.n;
    o->access = target_access(&settings->push.access);
    o->interval_ns = settings->push.interval_ns;
    o->linger_ns = settings->push.linger_ns;
    o->timeout_ns = settings->push.timeout_ns;
}

int metrics_push_create(struct daemon *daemon, struct error *error)
{
    const struct node_queue_hooks hooks = {collect, keep, say, daemon};
    struct node_queue_options options;
    int r;

    fill_options(daemon, &options);
    r = node_queue_create(&daemon->deliver, daemon->loop, &options, &hooks, error);
    return r < 0 || !daemon->store
               ? r
               : store_each_state(daemon->store, NODE_QUEUE_STATE_PREFIX, restore, daemon, error);
}

/* --- retire ----------------------------------------------------------------------------------- */

/* `text` has a line a gateway; an error is one line. */
static void on_retired(const char *text, size_t failed, void *arg)
{
    char *copy = strdup(text);

    for (char *c = copy; failed && c && *c; c++)
        if (*c == '\n')
            *c = c[1] ? ';' : '\0';
    if (!copy)
        request_error(arg, "no memory");
    else if (!failed)
        request_text(arg, TAKE_PTR(copy), false);
    else
        request_error(arg, "%s", copy);
    free(copy);
}

void daemon_retire(struct daemon *daemon, struct request *request, const struct message *m)
{
    int r;

    (void)m;
    metrics_retire(daemon->metrics);
    r = node_queue_retire(daemon->deliver, on_retired, request);
    if (r == -EALREADY)
        request_error(request, "a retirement is under way already");
    else if (r < 0)
        request_error(request, "cannot retire: %s", strerror(-r));
}
