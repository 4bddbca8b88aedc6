/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "collector/daemon/node_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/notes.h"
#include "collector/daemon/trace_sink.h"
#include "collector/store/query.h"
#include "collector/trace/outbox.h"
#include "collector/track/tracker.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define RECENT_MAX 1000 /* maximum number of ended jobs in one body; the newest */

struct node_state {
    struct node_state_options options;
    struct notes *notes;
    struct tracker *tracker;
    struct query *query;
    struct prometheus_names names; /* of mounts in the metrics */
    size_t names_kept;             /* how many of them are in the store */
};

/* --- names of mounts -------------------------------------------------------------------------- */

/* One name per line, ordered by number. */
#define NAMES_KEY "metric-names"

static void keep_names(struct node_state *state)
{
    const struct prometheus_names *names = &state->names;
    _free_ char *text = NULL;
    size_t size;
    FILE *out = names->n > state->names_kept ? open_memstream(&text, &size) : NULL;

    if (!out)
        return;
    for (size_t i = 0; i < names->n; i++)
        (void)fprintf(out, "%s\n", names->items[i]);
    if (fclose(out) != 0)
        return;
    notes_put(state->notes, NAMES_KEY, text);
    state->names_kept = names->n;
}

static int restore_names(struct node_state *state, struct store *store, struct error *error)
{
    _free_ char *text = NULL;
    char *save = NULL;
    int r = store_get_state(store, NAMES_KEY, &text, error);

    for (char *name = text ? strtok_r(text, "\n", &save) : NULL; name && r >= 0;
         name = strtok_r(NULL, "\n", &save))
        if (prometheus_names_get(&state->names, name) < 0)
            r = error_set(error, -ENOMEM, "no memory for the names of mounts");
    state->names_kept = state->names.n;
    return r;
}

int node_state_create(struct node_state **ret, const struct node_state_options *options,
                      struct notes *notes, struct store *store, struct error *error)
{
    struct node_state *state = calloc(1, sizeof(*state));
    int r;

    if (!state)
        return error_set(error, -ENOMEM, "no memory");
    state->options = *options;
    state->notes = notes;
    r = restore_names(state, store, error);
    if (r < 0) {
        node_state_destroy(state);
        return r;
    }
    *ret = state;
    return 0;
}

void node_state_attach(struct node_state *state, struct tracker *tracker, struct query *query)
{
    state->tracker = tracker;
    state->query = query;
}

void node_state_destroy(struct node_state *state)
{
    if (!state)
        return;
    prometheus_names_clear(&state->names);
    free(state);
}

/* --- what the store has ----------------------------------------------------------------------- */

struct load {
    struct node_state *state;
    node_state_done_f done;
    void *arg;
    uint64_t recent_ns, now_ns; /* real time */
    struct job_key *keys;       /* owned, with their clusters */
    size_t n;
    struct job_account **ended; /* owned */
    size_t n_ended;
    struct node_reading reading;
};

static void load_free(struct load *load)
{
    if (!load)
        return;
    for (size_t i = 0; i < load->n; i++)
        free(load->keys[i].cluster);
    free(load->keys);
    for (size_t i = 0; i < load->n_ended; i++)
        job_account_destroy(load->ended[i]);
    free(load->ended);
    for (size_t i = 0; i < load->reading.n_sinks; i++)
        free(load->reading.sinks[i].name);
    free(load->reading.sinks);
    free(load);
}

static bool same_key(const struct job_key *a, const struct job_key *b)
{
    return a->jobid == b->jobid && a->restart == b->restart && !strcmp(a->cluster, b->cluster);
}

static int add_key(struct load *load, const char *cluster, uint32_t jobid, uint32_t restart)
{
    struct job_key *grown = realloc(load->keys, (load->n + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    load->keys = grown;
    grown[load->n] = (struct job_key){strdup(cluster), jobid, restart};
    if (!grown[load->n].cluster)
        return -ENOMEM;
    load->n++;
    return 0;
}

static int take_recent(const struct history_row *row, void *arg)
{
    struct load *load = arg;

    /* Exclude jobs that ended in the future, before the clock was set back: they would stay until
     * then.
     */
    if (!row->ended || row->end_ns + load->recent_ns < load->now_ns ||
        row->end_ns > load->now_ns + load->recent_ns)
        return 0;
    return add_key(load, row->cluster, row->jobid, row->restart);
}

static int load_recent(struct store *reader, struct load *load, struct error *error)
{
    const struct history_filter filter = {
        .uid = UINT32_MAX,
        .since_ns = load->now_ns > load->recent_ns ? load->now_ns - load->recent_ns : 0,
        .limit = RECENT_MAX};
    int r = store_history(reader, &filter, take_recent, load, error);

    return r == -ENOMEM ? error_set(error, r, "no memory for the state of the node") : r;
}

/* The newest ended job of the key, without its steps on other nodes, which report them themselves.
 */
static int load_job(struct store *reader, struct load *load, const struct job_key *key,
                    struct error *error)
{
    struct job_account **jobs = NULL;
    int r =
        store_node_jobs(reader, key->cluster, key->jobid, load->state->options.node, &jobs, error);

    if (r < 0)
        return r;
    for (size_t j = 0; jobs[j]; j++) {
        if (!jobs[j]->ended || !same_key(&jobs[j]->key, key))
            continue;
        if (load->recent_ns && !jobs[j]->n_steps)
            break; /* it ran on other nodes only */
        /* Remove it from the array, which is freed below. */
        load->ended[load->n_ended++] = jobs[j];
        for (size_t k = j; jobs[k]; k++)
            jobs[k] = jobs[k + 1];
        break;
    }
    store_jobs_free(jobs);
    return 0;
}

static int take_sink(const char *sink, void *arg)
{
    struct node_reading *reading = arg;
    struct sink_stats *grown;

    for (size_t i = 0; i < reading->n_sinks; i++)
        if (!strcmp(reading->sinks[i].name, sink))
            return 0;
    grown = realloc(reading->sinks, (reading->n_sinks + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    reading->sinks = grown;
    grown[reading->n_sinks] = (struct sink_stats){.name = strdup(sink)};
    return grown[reading->n_sinks++].name ? 0 : -ENOMEM;
}

/* What is queued for the collector of traces is not in the store. It is left out if the directory
 * cannot be read. */
static int load_trace_sink(const struct node_state *state, struct node_reading *reading,
                           struct error *error)
{
    struct trace_outbox_stats traces;

    if (!state->options.traces || trace_outbox_stats(state->options.traces, &traces, error) < 0)
        return 0;
    if (take_sink(TRACE_SINK, reading) < 0)
        return error_set(error, -ENOMEM, "no memory for the state of the node");
    reading->sinks[reading->n_sinks - 1].stats =
        (struct outbox_stats){.waiting = traces.waiting, .oldest_ns = traces.oldest_ns};
    return 0;
}

/* List the sinks with queued rows, and the configured one. */
static int load_sinks(struct store *reader, const struct node_state *state,
                      struct node_reading *reading, struct error *error)
{
    int r = state->options.history ? take_sink(state->options.history, reading) : 0;

    if (!r)
        r = store_outbox_sinks(reader, take_sink, reading, error);

    if (r == -ENOMEM)
        return error_set(error, r, "no memory for the state of the node");
    for (size_t i = 0; i < reading->n_sinks && !r; i++)
        r = store_outbox_stats(reader, reading->sinks[i].name, &reading->sinks[i].stats, error);
    return r < 0 ? r : load_trace_sink(state, reading, error);
}

/* Runs on the query's thread. */
static int run_load(struct store *reader, void *arg, struct error *error)
{
    struct load *load = arg;
    int r = load->recent_ns ? load_recent(reader, load, error) : 0;

    if (!r && load->recent_ns)
        r = store_stats(reader, &load->reading.store, error);
    if (!r && load->recent_ns)
        r = load_sinks(reader, load->state, &load->reading, error);
    if (r < 0)
        return r;
    load->ended = calloc(load->n + 1, sizeof(*load->ended));
    if (!load->ended)
        return error_set(error, -ENOMEM, "no memory for the state of the node");
    for (size_t i = 0; i < load->n && !r; i++)
        r = load_job(reader, load, &load->keys[i], error);
    return r;
}

/* --- and what runs ---------------------------------------------------------------------------- */

static bool is_listed(struct job_account *const *jobs, size_t n, const struct job_key *key)
{
    for (size_t i = 0; i < n; i++)
        if (same_key(&jobs[i]->key, key))
            return true;
    return false;
}

static int finish_load(struct load *load, struct error *error)
{
    struct node_state *state = load->state;
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    struct job_account **active = NULL;
    _free_ const struct job_account **all = NULL;
    struct tracker_stats stats;
    size_t n = 0, n_active = 0;
    int r = tracker_totals(state->tracker, &totals);

    if (r < 0)
        return error_set(error, r, "no memory for the totals of the node");
    r = tracker_jobs(state->tracker, 0, UINT32_MAX, &active, error);
    if (r < 0)
        return r;
    while (active[n_active])
        n_active++;
    all = calloc(n_active + load->n_ended + 1, sizeof(*all));
    for (size_t i = 0; all && i < n_active; i++)
        all[n++] = active[i];
    for (size_t i = 0; all && i < load->n_ended; i++)
        if (!is_listed(active, n_active, &load->ended[i]->key))
            all[n++] = load->ended[i];
    tracker_stats(state->tracker, &stats);
    load->reading.node = (struct prometheus_node){
        .cluster = state->options.cluster,
        .instance = state->options.node,
        .totals = &totals,
        .jobs = all,
        .n_jobs = n,
        .names = &state->names,
        .users = state->options.users,
        .lost = stats.lost,
        .version = PACKAGE_VERSION,
        .plugin = stats.plugin,
    };
    if (all)
        load->done(&load->reading, NULL, load->arg);
    keep_names(state);
    store_jobs_free(active);
    return all ? 0 : error_set(error, -ENOMEM, "no memory for the jobs of the node");
}

static void on_loaded(int result, const struct error *error, void *arg)
{
    struct load *load = arg;
    struct error why;

    if (result < 0)
        load->done(NULL, error, load->arg);
    else if (finish_load(load, &why) < 0)
        load->done(NULL, &why, load->arg);
    load_free(load);
}

static struct load *load_create(struct node_state *state, const struct node_query *query)
{
    struct load *load = calloc(1, sizeof(*load));
    int r = 0;

    if (!load)
        return NULL;
    load->state = state;
    load->recent_ns = query->recent_ns;
    load->now_ns = clock_ns(CLOCK_REALTIME);
    for (size_t i = 0; i < query->n_ended && !r; i++)
        r = add_key(load, query->ended[i].cluster, query->ended[i].jobid, query->ended[i].restart);
    if (!r)
        return load;
    load_free(load);
    return NULL;
}

void node_state_load(struct node_state *state, const struct node_query *query,
                     node_state_done_f done, void *arg)
{
    struct load *load = load_create(state, query);
    const struct error no_memory = {"no memory for the state of the node"};
    const struct error busy = {"the queue of the store is full, try again"};

    if (!load) {
        done(NULL, &no_memory, arg);
        return;
    }
    load->done = done;
    load->arg = arg;
    if (!load->n && !load->recent_ns) {
        on_loaded(0, NULL, load);
    } else if (query_submit(state->query, run_load, on_loaded, load) < 0) {
        load_free(load);
        done(NULL, &busy, arg);
    }
}
