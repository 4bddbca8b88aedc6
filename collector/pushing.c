/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What delivery asks of the daemon: the state of the node, and a place for its notes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon_impl.h"
#include "collector/query.h"
#include "collector/store.h"
#include "collector/writer.h"
#include "common/cleanup.h"

/* --- notes ------------------------------------------------------------------------------------- */

struct note {
    char *key, *value; /* value NULL: forget */
};

static void note_free(struct note *note)
{
    free(note->key);
    free(note->value);
    free(note);
}

static int write_note(struct store *store, void *arg, struct error *error)
{
    struct note *note = arg;

    return store_put_state(store, note->key, note->value, error);
}

static void on_noted(int result, const struct error *error, void *arg)
{
    struct note *note = arg;

    if (result < 0)
        daemon_log_limited("note", 60, "deliver: cannot keep \"%s\": %s", note->key, error->text);
    note_free(note);
}

static void keep(const char *key, const char *value, void *arg)
{
    struct daemon *daemon = arg;
    struct note *note;
    struct error error = {"the queue of the store is full"};
    int r;

    if (!daemon->writer) {
        if (store_put_state(daemon->store, key, value, &error) < 0)
            log_error("deliver: cannot keep \"%s\": %s", key, error.text);
        return;
    }
    note = calloc(1, sizeof(*note));
    if (!note)
        return;
    note->key = strdup(key);
    note->value = value ? strdup(value) : NULL;
    r = note->key && (note->value || !value)
            ? writer_submit(daemon->writer, false, write_note, on_noted, note)
            : -ENOMEM;
    if (r < 0) {
        daemon_log_limited("note", 60, "deliver: cannot keep \"%s\": %s", key, error.text);
        note_free(note);
    }
}

/* --- names of mounts ----------------------------------------------------------------------------- */

/* One a line, in their order: a counter keeps its name over a restart. */
#define NAMES_KEY "metric-names"

static void keep_names(struct daemon *daemon)
{
    const struct prometheus_names *names = &daemon->metric_names;
    _free_ char *text = NULL;
    size_t size;
    FILE *out = names->n > daemon->names_kept ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    for (size_t i = 0; i < names->n; i++)
        (void)fprintf(out, "%s\n", names->items[i]);
    if (fclose(out) != 0)
        return;
    keep(NAMES_KEY, text, daemon);
    daemon->names_kept = names->n;
}

static int restore_names(struct daemon *daemon, struct error *error)
{
    _free_ char *text = NULL;
    char *save = NULL;
    int r = store_get_state(daemon->store, NAMES_KEY, &text, error);

    for (char *name = text ? strtok_r(text, "\n", &save) : NULL; name && r >= 0;
         name = strtok_r(NULL, "\n", &save))
        if (prometheus_names_get(&daemon->metric_names, name) < 0)
            r = error_set(error, -ENOMEM, "no memory for the names of mounts");
    daemon->names_kept = daemon->metric_names.n;
    return r;
}

/* --- the state of the node --------------------------------------------------------------------- */

struct collection {
    struct daemon *daemon;
    struct job_key *keys; /* owned, with their clusters */
    size_t n;
    struct job_account **ended; /* from the store, n of them at most, NULL-terminated */
    size_t n_ended;
};

static void collection_free(struct collection *c)
{
    if (!c)
        return;
    for (size_t i = 0; c->keys && i < c->n; i++)
        free(c->keys[i].cluster);
    free(c->keys);
    if (c->ended)
        store_jobs_free(c->ended);
    free(c);
}

static bool same_key(const struct job_key *a, const struct job_key *b)
{
    return a->jobid == b->jobid && a->restart == b->restart && !strcmp(a->cluster, b->cluster);
}

/* On the query's thread: the newest ended job of each key. */
static int load_ended(struct store *reader, void *arg, struct error *error)
{
    struct collection *c = arg;

    for (size_t i = 0; i < c->n; i++) {
        struct job_account **jobs = NULL;
        /* What other nodes did is in their own groups. */
        int r = store_node_jobs(reader, c->keys[i].cluster, c->keys[i].jobid, c->daemon->node,
                                &jobs, error);

        if (r < 0)
            return r;
        for (size_t j = 0; jobs[j]; j++) {
            if (!jobs[j]->ended || !same_key(&jobs[j]->key, &c->keys[i]))
                continue;
            /* Swap it out of the array that is freed below. */
            c->ended[c->n_ended++] = jobs[j];
            for (size_t k = j; jobs[k]; k++)
                jobs[k] = jobs[k + 1];
            break;
        }
        store_jobs_free(jobs);
    }
    return 0;
}

static bool is_listed(struct job_account *const *jobs, size_t n, const struct job_key *key)
{
    for (size_t i = 0; i < n; i++)
        if (same_key(&jobs[i]->key, key))
            return true;
    return false;
}

static int provide(struct daemon *daemon, struct collection *c, struct error *error)
{
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    struct job_account **active = NULL;
    _free_ const struct job_account **all = NULL;
    struct tracker_stats stats;
    struct prometheus_node node;
    size_t n = 0, n_active = 0;
    int r = tracker_totals(daemon->tracker, &totals);

    if (r < 0)
        return error_set(error, r, "no memory for the totals of the node");
    r = tracker_jobs(daemon->tracker, 0, &active, error);
    if (r < 0)
        return r;
    while (active[n_active])
        n_active++;
    all = calloc(n_active + c->n_ended + 1, sizeof(*all));
    for (size_t i = 0; all && i < n_active; i++)
        all[n++] = active[i];
    for (size_t i = 0; all && i < c->n_ended; i++)
        if (!is_listed(active, n_active, &c->ended[i]->key))
            all[n++] = c->ended[i];
    tracker_stats(daemon->tracker, &stats);
    node = (struct prometheus_node){
        .cluster = daemon->settings->cluster,
        .instance = daemon->node,
        .totals = &totals,
        .jobs = all,
        .n_jobs = n,
        .names = &daemon->metric_names,
        .users = daemon->settings->metrics_user,
        .lost = stats.lost,
        .version = PACKAGE_VERSION,
    };
    if (all)
        deliver_provide(daemon->deliver, &node, NULL);
    keep_names(daemon);
    store_jobs_free(active);
    return all ? 0 : error_set(error, -ENOMEM, "no memory for the jobs of the node");
}

static void on_loaded(int result, const struct error *error, void *arg)
{
    struct collection *c = arg;
    struct error why;

    if (result < 0)
        deliver_provide(c->daemon->deliver, NULL, error);
    else if (provide(c->daemon, c, &why) < 0)
        deliver_provide(c->daemon->deliver, NULL, &why);
    collection_free(c);
}

static struct collection *collection_create(struct daemon *daemon, const struct job_key *ended,
                                            size_t n)
{
    struct collection *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->daemon = daemon;
    c->keys = calloc(n + 1, sizeof(*c->keys));
    c->ended = calloc(n + 1, sizeof(*c->ended));
    for (size_t i = 0; c->keys && i < n; i++) {
        c->keys[i] = ended[i];
        c->keys[i].cluster = strdup(ended[i].cluster);
        if (!c->keys[i].cluster)
            break;
        c->n++;
    }
    if (c->n == n && c->keys && c->ended)
        return c;
    collection_free(c);
    return NULL;
}

static void collect(const struct job_key *ended, size_t n, void *arg)
{
    struct daemon *daemon = arg;
    struct collection *c = collection_create(daemon, ended, n);
    const struct error no_memory = {"no memory to collect the state of the node"};
    const struct error busy = {"too many questions to the store wait"};

    if (!c)
        deliver_provide(daemon->deliver, NULL, &no_memory);
    else if (!n)
        on_loaded(0, NULL, c);
    else if (query_submit(daemon->query, load_ended, on_loaded, c) < 0) {
        collection_free(c);
        deliver_provide(daemon->deliver, NULL, &busy);
    }
}

static void say(enum log_level level, const char *text, void *arg)
{
    (void)arg;
    log_write(level, "%s", text);
}

/* --- life -------------------------------------------------------------------------------------- */

static int restore(const char *key, const char *value, void *arg)
{
    struct daemon *daemon = arg;
    struct error error;

    if (deliver_restore(daemon->deliver, key, value, &error) < 0)
        log_warning("deliver: \"%s\" is ignored: %s", key, error.text);
    return 0;
}

static void fill_options(const struct daemon *daemon, struct deliver_options *o)
{
    const struct settings *settings = daemon->settings;

    deliver_defaults(o);
    o->cluster = settings->cluster;
    o->instance = daemon->node;
    o->urls = (const char *const *)settings->push.urls.items;
    o->n_urls = settings->push.urls.n;
    o->ca_file = settings->push.ca_file;
    o->cert_file = settings->push.cert_file;
    o->key_file = settings->push.key_file;
    o->userpwd_file = settings->push.credentials;
    o->proxy = settings->push.proxy;
    o->interval_ns = settings->push.interval_ns;
    o->linger_ns = settings->push.linger_ns;
    o->timeout_ns = settings->push.timeout_ns;
}

int pushing_create(struct daemon *daemon, struct error *error)
{
    const struct deliver_hooks hooks = {collect, keep, say, daemon};
    struct deliver_options options;
    int r;

    fill_options(daemon, &options);
    r = deliver_create(&daemon->deliver, daemon->loop, &options, &hooks, error);
    if (r < 0 || !daemon->store)
        return r;
    r = restore_names(daemon, error);
    return r < 0 ? r
                 : store_each_state(daemon->store, DELIVER_STATE_PREFIX, restore, daemon, error);
}

/* --- retire ------------------------------------------------------------------------------------ */

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
    int r = deliver_retire(daemon->deliver, on_retired, request);

    (void)m;
    if (r == -EALREADY)
        request_error(request, "a retirement is under way already");
    else if (r < 0)
        request_error(request, "cannot retire: %s", strerror(-r));
}
