/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/store_impl.h"

#include <string.h>

#include "common/text.h"

static int no_memory(const struct store *store, struct error *error)
{
    return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
}

static int bad_text(const struct store *store, int code, const char *what, struct error *error)
{
    return code == -ENOMEM
               ? no_memory(store, error)
               : error_set(error, code, "store \"%s\": %s cannot be read", store->path, what);
}

/* Copy a text column; NULL stays NULL. */
static int column_copy(sqlite3_stmt *statement, int column, char **ret)
{
    return text_copy(ret, column_text(statement, column));
}

void store_read_numbers(sqlite3_stmt *row, struct io_counter *ret)
{
    for (int column = 0; column < sqlite3_column_count(row); column++) {
        const char *name = sqlite3_column_name(row, column);

        for (size_t i = 0; name && i < IO_FIELD_COUNT; i++)
            if (io_field_is_number(&io_fields[i]) && !strcmp(io_fields[i].name, name))
                *io_field_in(&io_fields[i], ret) = column_u64(row, column);
    }
}

static int field_read(sqlite3_stmt *row, int column, const struct io_field *field,
                      struct io_counter *c)
{
    switch (field->kind) {
    case IO_FIELD_ERRNOS:
        return io_errnos_parse(column_text(row, column), c);
    case IO_FIELD_HISTOGRAM:
        return io_histogram_parse(column_text(row, column), io_field_in(field, c));
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        break;
    }
    *io_field_in(field, c) = column_u64(row, column);
    return 0;
}

/* A row of io_list: its columns are in the order of the field table. */
static int counter_read(struct store *store, sqlite3_stmt *row, struct io_mount *m,
                        struct error *error)
{
    int op = io_op_parse(column_text(row, 0));
    struct io_counter *c;
    int r = 0;

    if (op < 0) /* written by a newer version; the stored sums include it */
        return 0;
    c = io_account_op(&m->io, op);
    if (!c)
        return no_memory(store, error);
    for (int i = 0; r == 0 && i < IO_FIELD_COUNT; i++)
        r = field_read(row, 1 + i, &io_fields[i], c);
    m->peaks[op].bytes_per_s = column_u64(row, 1 + IO_FIELD_COUNT);
    m->peaks[op].requests_per_s = column_u64(row, 2 + IO_FIELD_COUNT);
    return r < 0 ? bad_text(store, r, "a histogram", error) : 0;
}

static int counters_read(struct store *store, int64_t step, int64_t mount, struct io_mount *m,
                         struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_IO_LIST, VALUES(U64((uint64_t)step), U64((uint64_t)mount)), &row,
                        error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0)
        r = counter_read(store, row, m, error);
    return r;
}

static struct io_mount *mount_of(struct io_mounts *mounts, sqlite3_stmt *row, int column)
{
    struct io_mount *m =
        io_mounts_get(mounts, column_text(row, column), column_text(row, column + 1),
                      column_text(row, column + 2), sqlite3_column_int(row, column + 3));

    if (m)
        m->labelled = sqlite3_column_int(row, column + 4);
    return m;
}

/* NULL reads as 0. */
static void users_read(sqlite3_stmt *row, int column, struct io_users *users)
{
    for (int kind = 0; kind < IO_USER_KINDS; kind++, column += 3)
        users[kind] = (struct io_users){.processes = column_u64(row, column),
                                        .threads = column_u64(row, column + 1),
                                        .at_least = sqlite3_column_int(row, column + 2)};
}

static int rpc_read(struct store *store, int64_t step, sqlite3_stmt *row, int column,
                    struct io_mount *m, struct error *error)
{
    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return 0;
    if (!m->rpc)
        m->rpc = calloc(1, sizeof(*m->rpc));
    if (!m->rpc)
        return no_memory(store, error);
    m->rpc->known = true;
    m->rpc->incomplete |= sqlite3_column_int(row, column);
    m->rpc->shared_at_most |= sqlite3_column_int(row, column + 1);
    return store_get_rpc(store, step, sqlite3_column_int64(row, 0), m->rpc, error);
}

static int mounts_read(struct store *store, int64_t step, struct io_mounts *mounts,
                       struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_STEP_MOUNT_LIST, VALUES(U64((uint64_t)step)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        struct io_mount *m = mount_of(mounts, row, 1);

        if (!m)
            return no_memory(store, error);
        for (int i = 0; i < IO_CACHE_COLUMNS; i++)
            *io_column_in(&io_cache_columns[i], &m->cache) = column_u64(row, 6 + i);
        users_read(row, 6 + IO_CACHE_COLUMNS, m->users);
        r = rpc_read(store, step, row, 6 + IO_CACHE_COLUMNS + 3 * IO_USER_KINDS, m, error);
        if (r == 0)
            r = counters_read(store, step, sqlite3_column_int64(row, 0), m, error);
        if (r == 0)
            r = store_get_timeline(store, step, sqlite3_column_int64(row, 0), &m->timeline, error);
    }
    return r;
}

int store_read_step(struct store *store, sqlite3_stmt *row, struct step_account *step,
                    struct error *error)
{
    int state = step_state_parse(column_text(row, 6));
    int r = column_copy(row, 3, &step->node);

    if (r == 0)
        r = completeness_parse(column_text(row, 10), &step->completeness);
    if (r == 0 && state < 0)
        r = state;
    if (r < 0)
        return bad_text(store, r, "a step", error);
    step->het = (uint32_t)column_u64(row, 1);
    step->step = (uint32_t)column_u64(row, 2);
    step->tagged_at_ns = column_u64(row, 4);
    step->elapsed_ns = column_u64(row, 5);
    step->state = (enum step_state)state;
    step->folded = (uint32_t)column_u64(row, 7);
    step->longest_wait_ns = column_u64(row, 8);
    step->completeness.lost = column_u64(row, 9);
    r = store_get_mpi(store, sqlite3_column_int64(row, 0), column_text(row, 11), &step->mpi, error);
    if (r == 0 && sqlite3_column_type(row, 12) != SQLITE_NULL)
        r = store_get_block(store, sqlite3_column_int64(row, 0), sqlite3_column_int(row, 12),
                            sqlite3_column_int(row, 13), &step->block, error);
    if (r == 0)
        r = store_get_stacks(store, sqlite3_column_int64(row, 0), &step->stacks, error);
    return r < 0 ? r : mounts_read(store, sqlite3_column_int64(row, 0), &step->mounts, error);
}

static int steps_read(struct store *store, int64_t id, const char *node, struct job_account *job,
                      struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_STEP_LIST, VALUES(U64((uint64_t)id), TEXT(node)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        struct step_account *grown = reallocarray(job->steps, job->n_steps + 1, sizeof(*grown));

        if (!grown)
            return no_memory(store, error);
        job->steps = grown;
        grown[job->n_steps] = (struct step_account){0};
        r = store_read_step(store, row, &grown[job->n_steps++], error);
        if (r == 0 && job_account_add_step(job, &grown[job->n_steps - 1]) < 0)
            return no_memory(store, error);
    }
    return r == 0 && job_account_check_mpi(job) < 0 ? no_memory(store, error) : r;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* The mount of a peak. Each of the job's steps may have added the mount to "(other mounts)"; then
 * it is that mount, and the peak is the largest. */
static struct io_mount *peak_mount(struct io_mounts *mounts, sqlite3_stmt *row, bool *other)
{
    struct io_mount *m = store_other_mount(mounts);

    *other = m && !io_mounts_find(mounts, column_text(row, 0), column_text(row, 1),
                                  column_text(row, 2), sqlite3_column_int(row, 3));
    return *other ? m : mount_of(mounts, row, 0);
}

/* Call it after the steps were read: their sum has only the peaks of single steps. */
int store_read_peaks(struct store *store, int64_t id, struct job_account *job, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_PEAK_LIST, VALUES(U64((uint64_t)id)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        bool other;
        struct io_mount *m = peak_mount(&job->mounts, row, &other);
        int op = io_op_parse(column_text(row, 5));

        if (!m)
            return no_memory(store, error);
        if (op < 0)
            continue;
        m->peaks[op] = (struct io_peak){
            .bytes_per_s = larger(column_u64(row, 6), other ? m->peaks[op].bytes_per_s : 0),
            .requests_per_s = larger(column_u64(row, 7), other ? m->peaks[op].requests_per_s : 0)};
    }
    return r;
}

int store_read_job(struct store *store, sqlite3_stmt *row, struct job_account *job,
                   struct error *error)
{
    uint64_t elsewhere = 0;
    int r = column_copy(row, 1, &job->key.cluster);

    if (r == 0)
        r = column_copy(row, 5, &job->user);
    if (r == 0)
        r = column_copy(row, 6, &job->account);
    if (r == 0)
        r = column_copy(row, 7, &job->partition);
    if (r == 0)
        r = column_copy(row, 8, &job->name);
    if (r == 0)
        r = column_copy(row, 20, &job->first_node);
    if (r == 0)
        r = completeness_parse(column_text(row, 17), &job->completeness);
    if (r == 0)
        r = io_ops_parse(column_text(row, 18), &job->unsupported);
    if (r == 0)
        r = io_ops_parse(column_text(row, 21), &elsewhere);
    job->unsupported |= elsewhere;
    if (r < 0)
        return bad_text(store, r, "a job", error);
    job->key.jobid = (uint32_t)column_u64(row, 2);
    job->key.restart = (uint32_t)column_u64(row, 3);
    job->uid = (uint32_t)column_u64(row, 4);
    job->ended = sqlite3_column_int(row, 9);
    job->start_ns = column_u64(row, 10);
    job->end_ns = job->ended ? column_u64(row, 11) : 0;
    job->elapsed_ns = column_u64(row, 12);
    job->nodes_expected = (uint32_t)column_u64(row, 13);
    job->nodes_reported = (uint32_t)column_u64(row, 14);
    job->longest_wait_ns = column_u64(row, 15);
    job->completeness.lost = column_u64(row, 16);
    job->ns_per_event = column_u64(row, 19);
    job->array_job = (uint32_t)column_u64(row, 22);
    job->array_task = (uint32_t)column_u64(row, 23);
    job->slurm = store_slurm_columns(row, 24);
    return 0;
}

static int job_read(struct store *store, sqlite3_stmt *row, const char *node,
                    struct job_account *job, struct error *error)
{
    int64_t id = sqlite3_column_int64(row, 0);
    int r = store_read_job(store, row, job, error);

    if (r == 0)
        r = steps_read(store, id, node, job, error);
    if (r == 0)
        r = store_read_peaks(store, id, job, error);
    return r;
}

void store_jobs_free(struct job_account **jobs)
{
    for (size_t i = 0; jobs && jobs[i]; i++)
        job_account_destroy(jobs[i]);
    free(jobs);
}

static void jobs_freep(struct job_account ***jobs)
{
    store_jobs_free(*jobs);
}

/* Read the jobs that the query gives, with the steps of `node` (NULL: of all nodes). */
static int jobs_read(struct store *store, sqlite3_stmt *row, const char *node,
                     struct job_account ***ret, struct error *error)
{
    CLEANUP(jobs_freep) struct job_account **jobs = calloc(1, sizeof(*jobs));
    size_t n = 0;
    int r = 0;

    if (!jobs)
        return no_memory(store, error);
    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        struct job_account **grown = reallocarray(jobs, n + 2, sizeof(*grown));

        if (!grown)
            return no_memory(store, error);
        jobs = grown;
        jobs[n] = job_account_create();
        jobs[n + 1] = NULL;
        if (!jobs[n])
            return no_memory(store, error);
        r = job_read(store, row, node, jobs[n++], error);
    }
    if (r == 0)
        *ret = TAKE_PTR(jobs);
    return r;
}

static int jobs_query(struct store *store, enum sql_query query, const struct sql_value *values,
                      size_t n, const char *node, struct job_account ***ret, struct error *error)
{
    sqlite3_stmt *row = NULL;
    bool begun;
    int r = store_snapshot(store, &begun, error);

    if (r < 0)
        return r;
    r = store_start(store, query, values, n, &row, error);
    if (r == 0)
        r = jobs_read(store, row, node, ret, error);
    store_resetp(&row);
    /* Best effort: ignore failure. */
    for (size_t i = 0; r == 0 && !node && (*ret)[i]; i++)
        (void)store_fill_baseline(store, (*ret)[i], &(struct error){0});
    store_snapshot_end(store, begun);
    return r;
}

int store_newest_jobs(struct store *store, const char *cluster, uint32_t jobid, uint32_t limit,
                      uint32_t uid, struct job_account ***ret, struct error *error)
{
    return jobs_query(
        store, SQL_JOB_LIST,
        VALUES(TEXT(cluster), U64(jobid), uid == UINT32_MAX ? NONE : U64(uid), U64(limit)), NULL,
        ret, error);
}

int store_task_jobs(struct store *store, const char *cluster, uint32_t array, uint32_t task,
                    uint32_t limit, uint32_t uid, struct job_account ***ret, struct error *error)
{
    return jobs_query(store, SQL_JOB_TASK,
                      VALUES(TEXT(cluster), U64(array), uid == UINT32_MAX ? NONE : U64(uid),
                             U64(limit), U64(task)),
                      NULL, ret, error);
}

static int array_read(struct store *store, sqlite3_stmt *row, store_job_f each, void *arg,
                      struct error *error)
{
    int64_t task = -1;
    int r;

    while ((r = store_next(store, row, error)) > 0) {
        struct job_account *job;

        if (sqlite3_column_int64(row, 23) == task)
            continue; /* an earlier run */
        task = sqlite3_column_int64(row, 23);
        job = job_account_create();
        r = job ? job_read(store, row, NULL, job, error) : no_memory(store, error);
        if (r >= 0)
            r = each(job, arg);
        job_account_destroy(job);
        if (r)
            return r;
    }
    return r;
}

int store_array(struct store *store, uint32_t array, uint32_t uid, uint32_t from, store_job_f each,
                void *arg, struct error *error)
{
    sqlite3_stmt *row = NULL;
    bool begun;
    int r = store_snapshot(store, &begun, error);

    if (r < 0)
        return r;
    r = store_start(store, SQL_JOB_ARRAY,
                    VALUES(U64(array), uid == UINT32_MAX ? NONE : U64(uid), U64(from)), &row,
                    error);
    if (r == 0)
        r = array_read(store, row, each, arg, error);
    store_resetp(&row);
    store_snapshot_end(store, begun);
    return r;
}

int store_jobs(struct store *store, const char *cluster, uint32_t jobid, bool all, uint32_t uid,
               struct job_account ***ret, struct error *error)
{
    return store_newest_jobs(store, cluster, jobid, all ? UINT32_MAX : 1, uid, ret, error);
}

int store_node_jobs(struct store *store, const char *cluster, uint32_t jobid, const char *node,
                    struct job_account ***ret, struct error *error)
{
    return jobs_query(store, SQL_JOB_LIST, VALUES(TEXT(cluster), U64(jobid), NONE, U64(UINT32_MAX)),
                      node, ret, error);
}

int store_unfinished(struct store *store, struct job_account ***ret, struct error *error)
{
    return jobs_query(store, SQL_JOB_UNFINISHED, NULL, 0, store->node, ret, error);
}

int store_each_stateless(struct store *store, uint64_t since_ns, store_key_f each, void *arg,
                         struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_JOB_STATELESS, VALUES(U64(since_ns)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        const struct job_key key = {
            .cluster = (char *)column_text(row, 0),
            .jobid = (uint32_t)column_u64(row, 1),
            .restart = (uint32_t)column_u64(row, 2),
        };

        if (each(&key, arg))
            return 0;
    }
    return r < 0 ? r : 0;
}

int store_node_totals(struct store *store, struct io_mounts *ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    struct io_mounts totals CLEANUP(io_mounts_clear) = {0};
    int r = store_start(store, SQL_TOTAL_LIST, NULL, 0, &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        bool labelled = sqlite3_column_int(row, 2);
        struct io_mount *m =
            io_mounts_get(&totals, column_text(row, 0), column_text(row, 1), "", !labelled);
        int op = io_op_parse(column_text(row, 3));
        struct io_counter *c = m && op >= 0 ? io_account_op(&m->io, op) : NULL;

        if (!m || (op >= 0 && !c))
            return no_memory(store, error);
        m->labelled = labelled;
        if (c)
            store_read_numbers(row, c);
    }
    if (r < 0)
        return r;
    *ret = totals;
    totals = (struct io_mounts){0};
    return 0;
}

int store_stats(struct store *store, struct store_stats *ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int64_t pages, page_size;
    int r = store_number(store, "PRAGMA page_count", &pages, error);

    if (r == 0)
        r = store_number(store, "PRAGMA page_size", &page_size, error);
    if (r == 0)
        r = store_start(store, SQL_STATS, NULL, 0, &row, error);
    if (r == 0)
        r = store_next(store, row, error);
    if (r < 0)
        return r;
    *ret = (struct store_stats){.jobs = column_u64(row, 0),
                                .steps = column_u64(row, 1),
                                .bytes = (uint64_t)(pages * page_size),
                                .oldest_ns = column_u64(row, 2)};
    return 0;
}
