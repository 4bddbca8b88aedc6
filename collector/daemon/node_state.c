/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the node, for whoever shows it: one source for pushes, /metrics and the textfile. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/daemon/daemon_impl.h"
#include "collector/store/query.h"
#include "collector/store/store.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define RECENT_MAX 1000 /* jobs in one body; the newest */

/* --- names of mounts -----------------------------------------------------------------------------
 */

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
    daemon_keep(daemon, NAMES_KEY, text);
    daemon->names_kept = names->n;
}

int collection_restore(struct daemon *daemon, struct error *error)
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

/* --- what the store has ------------------------------------------------------------------------
 */

struct work {
    struct daemon *daemon;
    collected_f done;
    void *arg;
    uint64_t recent_ns, now_ns; /* real time */
    struct job_key *keys;       /* owned, with their clusters */
    size_t n;
    struct job_account **ended; /* owned */
    size_t n_ended;
    struct collected collected;
};

static void work_free(struct work *work)
{
    if (!work)
        return;
    for (size_t i = 0; i < work->n; i++)
        free(work->keys[i].cluster);
    free(work->keys);
    for (size_t i = 0; i < work->n_ended; i++)
        job_account_destroy(work->ended[i]);
    free(work->ended);
    for (size_t i = 0; i < work->collected.n_sinks; i++)
        free(work->collected.sinks[i].name);
    free(work->collected.sinks);
    free(work);
}

static bool same_key(const struct job_key *a, const struct job_key *b)
{
    return a->jobid == b->jobid && a->restart == b->restart && !strcmp(a->cluster, b->cluster);
}

static int add_key(struct work *work, const char *cluster, uint32_t jobid, uint32_t restart)
{
    struct job_key *grown = realloc(work->keys, (work->n + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    work->keys = grown;
    grown[work->n] = (struct job_key){strdup(cluster), jobid, restart};
    if (!grown[work->n].cluster)
        return -ENOMEM;
    work->n++;
    return 0;
}

static int take_recent(const struct history_row *row, void *arg)
{
    struct work *work = arg;

    /* Nor one that ended in the future, by a clock that was set back: it would stay until then. */
    if (!row->ended || row->end_ns + work->recent_ns < work->now_ns ||
        row->end_ns > work->now_ns + work->recent_ns)
        return 0;
    return add_key(work, row->cluster, row->jobid, row->restart);
}

static int load_recent(struct store *reader, struct work *work, struct error *error)
{
    const struct history_filter filter = {
        .uid = UINT32_MAX,
        .since_ns = work->now_ns > work->recent_ns ? work->now_ns - work->recent_ns : 0,
        .limit = RECENT_MAX};
    int r = store_history(reader, &filter, take_recent, work, error);

    return r == -ENOMEM ? error_set(error, r, "no memory to collect the state of the node") : r;
}

/* The newest ended job of the key; what other nodes did of it is for them to show. */
static int load_job(struct store *reader, struct work *work, const struct job_key *key,
                    struct error *error)
{
    struct job_account **jobs = NULL;
    int r = store_node_jobs(reader, key->cluster, key->jobid, work->daemon->node, &jobs, error);

    if (r < 0)
        return r;
    for (size_t j = 0; jobs[j]; j++) {
        if (!jobs[j]->ended || !same_key(&jobs[j]->key, key))
            continue;
        if (work->recent_ns && !jobs[j]->n_steps)
            break; /* it was on other nodes only */
        /* Swap it out of the array that is freed below. */
        work->ended[work->n_ended++] = jobs[j];
        for (size_t k = j; jobs[k]; k++)
            jobs[k] = jobs[k + 1];
        break;
    }
    store_jobs_free(jobs);
    return 0;
}

static int take_sink(const char *sink, void *arg)
{
    struct collected *collected = arg;
    struct sink_stats *grown;

    for (size_t i = 0; i < collected->n_sinks; i++)
        if (!strcmp(collected->sinks[i].name, sink))
            return 0;
    grown = realloc(collected->sinks, (collected->n_sinks + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    collected->sinks = grown;
    grown[collected->n_sinks] = (struct sink_stats){.name = strdup(sink)};
    return grown[collected->n_sinks++].name ? 0 : -ENOMEM;
}

/* Those for which something waits, and the one of the configuration. */
static int load_sinks(struct store *reader, const struct daemon *daemon,
                      struct collected *collected, struct error *error)
{
    int r = daemon->sink ? take_sink(FEEDING_SINK, collected) : 0;

    if (!r)
        r = store_outbox_sinks(reader, take_sink, collected, error);

    if (r == -ENOMEM)
        return error_set(error, r, "no memory to collect the state of the node");
    for (size_t i = 0; i < collected->n_sinks && !r; i++)
        r = store_outbox_stats(reader, collected->sinks[i].name, &collected->sinks[i].stats, error);
    return r;
}

/* On the query's thread. */
static int load(struct store *reader, void *arg, struct error *error)
{
    struct work *work = arg;
    int r = work->recent_ns ? load_recent(reader, work, error) : 0;

    if (!r && work->recent_ns)
        r = store_stats(reader, &work->collected.store, error);
    if (!r && work->recent_ns)
        r = load_sinks(reader, work->daemon, &work->collected, error);
    if (r < 0)
        return r;
    work->ended = calloc(work->n + 1, sizeof(*work->ended));
    if (!work->ended)
        return error_set(error, -ENOMEM, "no memory to collect the state of the node");
    for (size_t i = 0; i < work->n && !r; i++)
        r = load_job(reader, work, &work->keys[i], error);
    return r;
}

/* --- and what runs -------------------------------------------------------------------------------
 */

static bool is_listed(struct job_account *const *jobs, size_t n, const struct job_key *key)
{
    for (size_t i = 0; i < n; i++)
        if (same_key(&jobs[i]->key, key))
            return true;
    return false;
}

static int answer(struct work *work, struct error *error)
{
    struct daemon *daemon = work->daemon;
    CLEANUP(io_mounts_clear) struct io_mounts totals = {0};
    struct job_account **active = NULL;
    _free_ const struct job_account **all = NULL;
    struct tracker_stats stats;
    size_t n = 0, n_active = 0;
    int r = tracker_totals(daemon->tracker, &totals);

    if (r < 0)
        return error_set(error, r, "no memory for the totals of the node");
    r = tracker_jobs(daemon->tracker, 0, &active, error);
    if (r < 0)
        return r;
    while (active[n_active])
        n_active++;
    all = calloc(n_active + work->n_ended + 1, sizeof(*all));
    for (size_t i = 0; all && i < n_active; i++)
        all[n++] = active[i];
    for (size_t i = 0; all && i < work->n_ended; i++)
        if (!is_listed(active, n_active, &work->ended[i]->key))
            all[n++] = work->ended[i];
    tracker_stats(daemon->tracker, &stats);
    work->collected.node = (struct prometheus_node){
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
        work->done(&work->collected, NULL, work->arg);
    keep_names(daemon);
    store_jobs_free(active);
    return all ? 0 : error_set(error, -ENOMEM, "no memory for the jobs of the node");
}

static void on_loaded(int result, const struct error *error, void *arg)
{
    struct work *work = arg;
    struct error why;

    if (result < 0)
        work->done(NULL, error, work->arg);
    else if (answer(work, &why) < 0)
        work->done(NULL, &why, work->arg);
    work_free(work);
}

static struct work *work_create(struct daemon *daemon, const struct collection *collection)
{
    struct work *work = calloc(1, sizeof(*work));
    int r = 0;

    if (!work)
        return NULL;
    work->daemon = daemon;
    work->recent_ns = collection->recent_ns;
    work->now_ns = clock_ns(CLOCK_REALTIME);
    for (size_t i = 0; i < collection->n_ended && !r; i++)
        r = add_key(work, collection->ended[i].cluster, collection->ended[i].jobid,
                    collection->ended[i].restart);
    if (!r)
        return work;
    work_free(work);
    return NULL;
}

void daemon_collect(struct daemon *daemon, const struct collection *collection, collected_f done,
                    void *arg)
{
    struct work *work = work_create(daemon, collection);
    const struct error no_memory = {"no memory to collect the state of the node"};
    const struct error busy = {"too many questions to the store wait"};

    if (!work) {
        done(NULL, &no_memory, arg);
        return;
    }
    work->done = done;
    work->arg = arg;
    if (!work->n && !work->recent_ns) {
        on_loaded(0, NULL, work);
    } else if (query_submit(daemon->query, load, on_loaded, work) < 0) {
        work_free(work);
        done(NULL, &busy, arg);
    }
}
