/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/store_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"

#define NOW U64(clock_ns(CLOCK_REALTIME))

struct outbox_write {
    const struct job_key *key;
    const struct step_account *step;
    const char *sink, *why;
    const int64_t *ids;
    size_t n;
};

static int put_step(struct store *store, const void *arg, struct error *error)
{
    const struct outbox_write *w = arg;
    struct step_row row = {0};
    int r = store_find_step(store, w->key, w->step, &row, error);

    if (r == 0 && (!row.id || !row.final))
        return error_set(error, -ENOENT, "store \"%s\": a step of job %u that is not final",
                         store->path, w->key->jobid);
    if (r == 0)
        r = store_run(store, SQL_OUTBOX_PUT, VALUES(TEXT(w->sink), U64((uint64_t)row.id), NOW),
                      error);
    return r;
}

int store_outbox_put(struct store *store, const struct job_key *key,
                     const struct step_account *step, const char *sink, struct error *error)
{
    if (!store_is_own(store, step))
        return 0;
    return store_write(store, put_step,
                       &(struct outbox_write){.key = key, .step = step, .sink = sink}, error);
}

static int put_job(struct store *store, const void *arg, struct error *error)
{
    const struct outbox_write *w = arg;
    struct job_row row;
    int r = store_find_job(store, w->key, &row, error);

    if (r == 0)
        return error_set(error, -ENOENT, "store \"%s\": job %u is not stored", store->path,
                         w->key->jobid);
    if (r < 0)
        return r;
    return store_run(store, SQL_OUTBOX_PUT_JOB,
                     VALUES(TEXT(w->sink), U64((uint64_t)row.id), NOW, TEXT(store->node)), error);
}

int store_outbox_put_job(struct store *store, const struct job_key *key, const char *sink,
                         struct error *error)
{
    return store_write(store, put_job, &(struct outbox_write){.key = key, .sink = sink}, error);
}

static int put_all(struct store *store, const void *arg, struct error *error)
{
    const struct outbox_write *w = arg;
    struct job_row row;
    int r = store_find_job(store, w->key, &row, error);

    if (r <= 0)
        return r;
    return store_run(store, SQL_OUTBOX_PUT_ALL,
                     VALUES(TEXT(w->sink), U64((uint64_t)row.id), NOW, TEXT(store->node)), error);
}

int store_outbox_put_all(struct store *store, const struct job_key *key, const char *sink,
                         struct error *error)
{
    return store_write(store, put_all, &(struct outbox_write){.key = key, .sink = sink}, error);
}

static int drop(struct store *store, const void *arg, struct error *error)
{
    const struct outbox_write *w = arg;
    int r = 0;

    for (size_t i = 0; i < w->n && r >= 0; i++)
        r = store_run(store, SQL_OUTBOX_DROP, VALUES(U64((uint64_t)w->ids[i])), error);
    return r;
}

int store_outbox_drop(struct store *store, const int64_t *ids, size_t n, struct error *error)
{
    return store_write(store, drop, &(struct outbox_write){.ids = ids, .n = n}, error);
}

static int refuse(struct store *store, const void *arg, struct error *error)
{
    const struct outbox_write *w = arg;

    return store_run(store, SQL_OUTBOX_REFUSE, VALUES(U64((uint64_t)w->ids[0]), TEXT(w->why)),
                     error);
}

int store_outbox_refuse(struct store *store, int64_t id, const char *why, struct error *error)
{
    return store_write(store, refuse, &(struct outbox_write){.ids = &id, .why = why}, error);
}

/* Run the query on a range of sinks, which an index serves: one sink, or, for a pattern "PREFIX*",
 * all sinks with that prefix. */
static int run_on_sinks(struct store *store, enum sql_query query, const char *sink,
                        struct error *error)
{
    size_t n = strlen(sink);
    bool is_prefix = n > 1 && sink[n - 1] == '*';
    _free_ char *from = strndup(sink, is_prefix ? n - 1 : n);
    _free_ char *to = from ? malloc(n + 2) : NULL;

    if (!to)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    (void)strcpy(to, from);
    if (is_prefix)
        to[n - 2]++;
    else
        (void)strcpy(to + n, "\x01");
    return store_run(store, query, VALUES(TEXT(from), TEXT(to)), error);
}

static int retry(struct store *store, const void *arg, struct error *error)
{
    return run_on_sinks(store, SQL_OUTBOX_RETRY, arg, error);
}

int store_outbox_retry(struct store *store, const char *sink, struct error *error)
{
    return store_write(store, retry, sink, error);
}

static int forget(struct store *store, const void *arg, struct error *error)
{
    return run_on_sinks(store, SQL_OUTBOX_FORGET, arg, error);
}

int store_outbox_forget(struct store *store, const char *sink, struct error *error)
{
    return store_write(store, forget, sink, error);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int read_job(struct store *store, int64_t id, struct job_account *job, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_OUTBOX_JOB, VALUES(U64((uint64_t)id)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0)
        r = store_read_job(store, row, job, error);
    return r < 0 ? r : store_read_peaks(store, id, job, error);
}

static int read_step(struct store *store, int64_t id, struct job_account *job, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_OUTBOX_STEP, VALUES(U64((uint64_t)id)), &row, error);

    job->steps = calloc(1, sizeof(*job->steps));
    if (!job->steps)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    job->n_steps = 1;
    if (r == 0)
        r = store_next(store, row, error);
    return r > 0 ? store_read_step(store, row, &job->steps[0], error) : r;
}

int store_outbox_more(struct store *store, int64_t id, bool *ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_OUTBOX_MORE, VALUES(U64((uint64_t)id)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0)
        *ret = sqlite3_column_int(row, 0);
    return r < 0 ? r : 0;
}

static void job_accountp(struct job_account **job)
{
    job_account_destroy(*job);
}

static int read_one(struct store *store, sqlite3_stmt *row, store_outbox_f each, void *arg,
                    struct error *error)
{
    CLEANUP(job_accountp) struct job_account *job = job_account_create();
    int r;

    if (!job)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    r = read_job(store, sqlite3_column_int64(row, 2), job, error);
    if (r == 0)
        r = read_step(store, sqlite3_column_int64(row, 1), job, error);
    return r < 0 ? r : each(sqlite3_column_int64(row, 0), job, arg);
}

static int read_all(struct store *store, const struct sql_value *values, size_t n,
                    store_outbox_f each, void *arg, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_OUTBOX_LIST, values, n, &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        r = read_one(store, row, each, arg, error);
        if (r)
            return r;
    }
    return r;
}

int store_outbox_read(struct store *store, const char *sink, int64_t after_id, uint32_t max,
                      store_outbox_f each, void *arg, struct error *error)
{
    const struct sql_value values[] = {TEXT(sink), U64((uint64_t)after_id), U64(max)};
    bool begun;
    int r = store_snapshot(store, &begun, error);

    if (r < 0)
        return r;
    r = read_all(store, values, ARRAY_SIZE(values), each, arg, error);
    store_snapshot_end(store, begun);
    return r;
}

int store_outbox_stats(struct store *store, const char *sink, struct outbox_stats *ret,
                       struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_OUTBOX_STATS, VALUES(TEXT(sink)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r < 0)
        return r;
    *ret = (struct outbox_stats){.waiting = column_u64(row, 0),
                                 .refused = column_u64(row, 1) - column_u64(row, 0),
                                 .oldest_ns = column_u64(row, 2),
                                 .given_up = column_u64(row, 3)};
    return 0;
}

int store_outbox_sinks(struct store *store, int (*each)(const char *sink, void *arg), void *arg,
                       struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_OUTBOX_SINKS, NULL, 0, &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        r = each(column_text(row, 0), arg);
        if (r)
            return r;
    }
    return r;
}
