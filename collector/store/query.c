/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/query.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "collector/store/store_impl.h"
#include "collector/store/worker.h"
#include "common/clock.h"

#define DEFAULT_LIMIT_MS 5000

struct query {
    struct worker *worker;
    char *path;
    unsigned limit_ms, idle_ms;
    struct store *reader; /* used by the thread only; NULL: not open */
    uint64_t used_ns;     /* used by the thread only: end of the last query */
    bool canceled;        /* atomic */
};

static int reader_open(struct query *query, struct error *error)
{
    int r = query->reader ? 0 : store_open_reader(&query->reader, query->path, error);

    if (r == 0)
        store_cancel_on(query->reader, &query->canceled);
    return r;
}

static int run_task(struct query *query, struct worker_task *task, struct error *error)
{
    uint64_t waited_ms = (clock_ns(CLOCK_MONOTONIC) - task->queued_ns) / NS_PER_MS;
    int r;

    if (__atomic_load_n(&query->canceled, __ATOMIC_RELAXED))
        return error_errno(error, -ECANCELED, "store \"%s\"", query->path);
    if (waited_ms >= query->limit_ms)
        return error_set(error, -ETIMEDOUT, "store \"%s\": other queries took too long",
                         query->path);
    r = reader_open(query, error);
    if (r < 0)
        return r;
    store_limit(query->reader, query->limit_ms);
    return task->run(query->reader, task->arg, error);
}

static void query_execute(struct worker_task *tasks, size_t n, void *owner)
{
    struct query *query = owner;

    (void)n; /* always 1 */
    tasks->result = run_task(query, tasks, &tasks->error);
    query->used_ns = clock_ns(CLOCK_MONOTONIC);
    /* The file may have been replaced. */
    if (tasks->result < 0 && tasks->result != -ETIMEDOUT) {
        store_close(query->reader);
        query->reader = NULL;
    }
}

static unsigned query_idle(void *owner)
{
    struct query *query = owner;
    uint64_t idle_ms = (clock_ns(CLOCK_MONOTONIC) - query->used_ns) / NS_PER_MS;

    if (!query->reader)
        return query->idle_ms;
    if (idle_ms < query->idle_ms)
        return query->idle_ms - (unsigned)idle_ms;
    store_close(query->reader);
    query->reader = NULL;
    (void)malloc_trim(0);
    return query->idle_ms;
}

static int start(struct query *query, const char *name, struct error *error)
{
    const struct worker_options options = {
        .name = name ? name : "jobiod-query",
        .capacity = QUERY_MAX,
        .each = QUERY_EACH,
        .batch = 1,
        .execute = query_execute,
        .idle = query->idle_ms ? query_idle : NULL,
        .idle_ms = query->idle_ms,
        .owner = query,
    };

    return worker_create(&query->worker, &options, error);
}

int query_create(struct query **ret, const struct query_options *options, struct error *error)
{
    struct query *query = calloc(1, sizeof(*query));
    int r;

    if (!query)
        return error_errno(error, -ENOMEM, "query");
    query->limit_ms = options->limit_ms ? options->limit_ms : DEFAULT_LIMIT_MS;
    query->idle_ms = options->idle_ms;
    query->path = strdup(options->path);
    r = query->path ? start(query, options->name, error) : error_errno(error, -ENOMEM, "query");
    if (r < 0) {
        free(query->path);
        free(query);
        return r;
    }
    *ret = query;
    return 0;
}

void query_destroy(struct query *query)
{
    if (!query)
        return;
    __atomic_store_n(&query->canceled, true, __ATOMIC_RELAXED);
    worker_destroy(query->worker);
    store_close(query->reader);
    free(query->path);
    free(query);
}

static int submit(struct query *query, uint64_t owner, query_run_f run, query_done_f done,
                  void *arg)
{
    int r = worker_submit(
        query->worker, &(struct worker_task){.run = run, .done = done, .arg = arg, .owner = owner});

    return r == -EAGAIN ? -EBUSY : r;
}

int query_submit(struct query *query, query_run_f run, query_done_f done, void *arg)
{
    return submit(query, 0, run, done, arg);
}

int query_submit_for(struct query *query, uid_t uid, query_run_f run, query_done_f done, void *arg)
{
    return submit(query, (uint64_t)uid + 1, run, done, arg);
}

int query_fd(const struct query *query)
{
    return worker_fd(query->worker);
}

size_t query_dispatch(struct query *query)
{
    return worker_dispatch(query->worker);
}

void query_stats(struct query *query, struct query_stats *ret)
{
    struct worker_stats stats;

    worker_stats(query->worker, &stats);
    *ret = (struct query_stats){stats.waiting, stats.refused};
}
