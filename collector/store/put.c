/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/store_impl.h"

#include <string.h>

/* An ordinary step uses three mounts. Users can make thousands, with long names. */
static const struct mount_limit step_limit = {
    .mounts = 64, .name_bytes = 16 << 10, .timelines = true};
static const struct mount_limit full_limit = {0};

/* Run a query that returns at most one number. 1: found; 0: no row. */
static int find_id(struct store *store, enum sql_query query, const struct sql_value *values,
                   size_t n, int64_t *id, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *statement = NULL;
    int r = store_start(store, query, values, n, &statement, error);

    if (r == 0)
        r = store_next(store, statement, error);
    if (r > 0)
        *id = sqlite3_column_int64(statement, 0);
    return r;
}

static const char *text_or_empty(const char *text)
{
    return text ? text : "";
}

static int mount_id(struct store *store, const struct io_mount *m, int64_t *ret,
                    struct error *error)
{
    const struct sql_value names[] = {TEXT(text_or_empty(m->mount)), TEXT(text_or_empty(m->fstype)),
                                      TEXT(text_or_empty(m->source)), U64(m->private),
                                      U64(m->labelled)};
    int r = find_id(store, SQL_MOUNT_FIND, names, ARRAY_SIZE(names), ret, error);

    if (r > 0)
        return 0;
    if (r == 0)
        r = store_run(store, SQL_MOUNT_INSERT, names, ARRAY_SIZE(names), error);
    if (r == 0)
        *ret = sqlite3_last_insert_rowid(store->db);
    return r;
}

int store_find_job(struct store *store, const struct job_key *key, struct job_row *ret,
                   struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *statement = NULL;
    int r =
        store_start(store, SQL_JOB_FIND,
                    VALUES(TEXT(text_or_empty(key->cluster)), U64(key->jobid), U64(key->restart)),
                    &statement, error);

    if (r == 0)
        r = store_next(store, statement, error);
    if (r > 0)
        *ret = (struct job_row){.id = sqlite3_column_int64(statement, 0),
                                .ended = sqlite3_column_int(statement, 1),
                                .end_ns = column_u64(statement, 2)};
    return r;
}

static int peaks_put(struct store *store, int64_t job, const struct io_mounts *mounts,
                     struct error *error)
{
    int r = store_run(store, SQL_PEAK_CLEAR, VALUES(U64((uint64_t)job)), error);

    for (size_t i = 0; r == 0 && i < mounts->n; i++) {
        const struct io_mount *m = &mounts->items[i];
        int64_t mount = 0;

        for (int op = 0; r == 0 && op < IO_OP_COUNT; op++) {
            const struct io_peak *peak = &m->peaks[op];

            if (!peak->bytes_per_s && !peak->requests_per_s)
                continue;
            if (!mount)
                r = mount_id(store, m, &mount, error);
            if (r == 0)
                r = store_run(store, SQL_PEAK_PUT,
                              VALUES(U64((uint64_t)job), U64((uint64_t)mount), TEXT(io_op_name(op)),
                                     U64(peak->bytes_per_s), U64(peak->requests_per_s)),
                              error);
        }
    }
    return r;
}

static int limited_peaks_put(struct store *store, int64_t job, const struct io_mounts *mounts,
                             struct error *error)
{
    struct io_mounts limited CLEANUP(io_mounts_clear) = {0};
    int r = store_limit_mounts(mounts, &step_limit, &limited);

    if (r < 0)
        return error_errno(error, r, "store \"%s\"", store->path);
    return peaks_put(store, job, r ? &limited : mounts, error);
}

static int job_write(struct store *store, const void *arg, struct error *error)
{
    const struct job_account *job = arg;
    _free_ char *causes = NULL, *unsupported = NULL;
    struct job_row row = {0};
    bool update;
    int r = store_find_job(store, &job->key, &row, error);

    if (r < 0)
        return r;
    update = r > 0 && !(row.ended && job->start_ns > row.end_ns);
    r = completeness_text(&job->completeness, &causes);
    if (r == 0)
        r = io_ops_text(job->unsupported, &unsupported);
    if (r < 0)
        return error_errno(error, r, "store \"%s\": job %u", store->path, job->key.jobid);
    r = store_run(store, update ? SQL_JOB_UPDATE : SQL_JOB_INSERT,
                  VALUES(update ? U64((uint64_t)row.id) : TEXT(text_or_empty(job->key.cluster)),
                         update ? NONE : U64(job->key.jobid), update ? NONE : U64(job->key.restart),
                         U64(job->uid), TEXT(job->user), TEXT(job->account), TEXT(job->partition),
                         TEXT(job->name), U64(job->ended), U64(job->start_ns),
                         U64(job->ended ? job->end_ns : INT64_MAX), U64(job->elapsed_ns),
                         U64(job->nodes_expected), U64(job->nodes_reported),
                         U64(job->longest_wait_ns), U64(job->completeness.lost), TEXT(causes),
                         TEXT(unsupported), U64(job->ns_per_event), TEXT(job->first_node),
                         job->array_job ? U64(job->array_job) : NONE,
                         job->array_job ? U64(job->array_task) : NONE),
                  error);
    if (r < 0)
        return r;
    return limited_peaks_put(store, update ? row.id : sqlite3_last_insert_rowid(store->db),
                             &job->mounts, error);
}

int store_put_job(struct store *store, const struct job_account *job, struct error *error)
{
    return store_write(store, job_write, job, error);
}

/* Store a job that has no step on this node, so nothing of this node is missing. */
static int job_make(struct store *store, const struct job_account *job, struct error *error)
{
    const struct job_account made = {
        .key = job->key,
        .uid = job->uid,
        .user = job->user,
        .account = job->account,
        .partition = job->partition,
        .name = job->name,
        .array_job = job->array_job,
        .array_task = job->array_task,
        .ended = job->ended,
        .start_ns = job->start_ns,
        .end_ns = job->end_ns,
        .elapsed_ns = job->elapsed_ns,
        .nodes_expected = job->nodes_expected,
        .nodes_reported = 1,
    };

    return job_write(store, &made, error);
}

static int elsewhere_write(struct store *store, const void *arg, struct error *error)
{
    const struct job_account *job = arg;
    struct job_row row;
    int r = store_find_job(store, &job->key, &row, error);

    if (r <= 0)
        return r < 0 ? r : job_make(store, job, error);
    return store_run(store, SQL_JOB_FOLLOW,
                     VALUES(U64((uint64_t)row.id), U64(job->ended), U64(job->end_ns),
                            U64(job->elapsed_ns), U64(job->nodes_expected), TEXT(store->node)),
                     error);
}

int store_put_elsewhere(struct store *store, const struct job_account *job, struct error *error)
{
    return store_write(store, elsewhere_write, job, error);
}

/* The column of a field. Its text is in `buf` or `errnos`. */
static struct sql_value field_value(const struct io_field *field, const struct io_counter *c,
                                    const char *errnos, char buf[IO_HISTOGRAM_TEXT])
{
    switch (field->kind) {
    case IO_FIELD_ERRNOS:
        return TEXT(errnos);
    case IO_FIELD_HISTOGRAM:
        return TEXT(io_histogram_text(io_field_of(field, c), buf));
    case IO_FIELD_SUM:
    case IO_FIELD_MAX:
        break;
    }
    return U64(*io_field_of(field, c));
}

static int io_put(struct store *store, int64_t step, int64_t mount, enum io_op op,
                  const struct io_counter *c, const struct io_peak *peak, struct error *error)
{
    struct sql_value values[3 + IO_FIELD_COUNT + 2] = {U64((uint64_t)step), U64((uint64_t)mount),
                                                       TEXT(io_op_name(op))};
    char texts[IO_FIELD_COUNT][IO_HISTOGRAM_TEXT];
    _free_ char *errnos = NULL;
    size_t n = 3;

    if (io_errnos_text(c, &errnos) < 0)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    for (size_t i = 0; i < IO_FIELD_COUNT; i++)
        values[n++] = field_value(&io_fields[i], c, errnos, texts[i]);
    values[n++] = U64(peak->bytes_per_s);
    values[n++] = U64(peak->requests_per_s);
    return store_run(store, SQL_IO_PUT, values, n, error);
}

/* The columns of readers and writers. */
#define USER_COLUMNS (3 * IO_USER_KINDS)
/* Those of the requests of NFS. */
#define RPC_COLUMNS 2

static void user_values(const struct io_users *users, struct sql_value *values)
{
    for (int kind = 0; kind < IO_USER_KINDS; kind++, values += 3) {
        const struct io_users *u = &users[kind];

        values[0] = u->processes ? U64(u->processes) : NONE;
        values[1] = u->processes ? U64(u->threads) : NONE;
        values[2] = u->processes ? U64(u->at_least) : NONE;
    }
}

static int step_mount_put(struct store *store, const struct step_row *step,
                          const struct io_mount *m, struct error *error)
{
    struct sql_value values[2 + IO_CACHE_COLUMNS + USER_COLUMNS + RPC_COLUMNS] = {
        U64((uint64_t)step->id)};
    struct sql_value *rpc = values + 2 + IO_CACHE_COLUMNS + USER_COLUMNS;
    int64_t mount;
    int r = mount_id(store, m, &mount, error);

    if (r < 0)
        return r;
    values[1] = U64((uint64_t)mount);
    for (size_t i = 0; i < IO_CACHE_COLUMNS; i++)
        values[2 + i] = U64(io_column_of(&io_cache_columns[i], &m->cache));
    user_values(m->users, values + 2 + IO_CACHE_COLUMNS);
    rpc[0] = m->rpc ? U64(m->rpc->incomplete) : NONE;
    rpc[1] = m->rpc ? U64(m->rpc->shared_at_most) : NONE;
    r = store_run(store, SQL_STEP_MOUNT_PUT, values, ARRAY_SIZE(values), error);
    if (r == 0)
        r = store_put_rpc(store, step->id, mount, m->rpc, error);
    if (r == 0)
        r = store_put_timeline(store, step->id, mount, &m->timeline, error);
    for (int op = 0; r == 0 && op < IO_OP_COUNT; op++)
        if (m->io.ops[op])
            r = io_put(store, step->id, mount, op, m->io.ops[op], &m->peaks[op], error);
    return r == 0 ? store_give_mount(store, step->job, mount, &m->io, error) : r;
}

struct step_write {
    const struct job_key *key;
    const struct step_account *step;
    bool final;
    const struct stack_profile *stacks;
};

static struct io_sums step_sums(const struct io_mounts *mounts)
{
    struct io_sums sums = {0};

    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_sums more = io_account_sums(&mounts->items[i].io);

        io_sums_add(&sums, &more);
    }
    return sums;
}

bool store_is_own(const struct store *store, const struct step_account *step)
{
    return !store->node || (step->node && strcmp(step->node, store->node) == 0);
}

/* The row of the step itself: inserted if row->id is 0, else updated. */
static int step_row_put(struct store *store, struct step_row *row, const struct step_write *w,
                        const struct io_mounts *mounts, struct error *error)
{
    const struct step_account *step = w->step;
    const struct io_sums sums = step_sums(mounts);
    bool update = row->id != 0;
    _free_ char *causes = NULL, *mpi = NULL;
    int r;

    if (completeness_text(&step->completeness, &causes) < 0 ||
        mpi_incomplete_text(step->mpi, &mpi) < 0)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    struct sql_value values[12 + IO_SUM_COLUMNS + 3] = {
        U64((uint64_t)(update ? row->id : row->job)),
        update ? NONE : U64(step->het),
        update ? NONE : U64(step->step),
        update ? NONE : TEXT(text_or_empty(step->node)),
        update ? NONE : U64(step->tagged_at_ns),
        U64(step->elapsed_ns),
        TEXT(step_state_name(step->state)),
        U64(step->folded),
        U64(w->final),
        U64(step->longest_wait_ns),
        U64(step->completeness.lost),
        TEXT(causes),
    };

    store_sum_values(&sums, values + 12);
    values[12 + IO_SUM_COLUMNS] = TEXT(mpi);
    values[13 + IO_SUM_COLUMNS] = step->block ? U64(step->block->incomplete) : NONE;
    values[14 + IO_SUM_COLUMNS] = step->block ? U64(step->block->shared_at_most) : NONE;
    r = store_run(store, update ? SQL_STEP_UPDATE : SQL_STEP_INSERT, values, ARRAY_SIZE(values),
                  error);
    if (r == 0 && !update)
        row->id = sqlite3_last_insert_rowid(store->db);
    return r;
}

int store_find_step(struct store *store, const struct job_key *key, const struct step_account *step,
                    struct step_row *row, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *statement = NULL;
    struct job_row job;
    int r = store_find_job(store, key, &job, error);

    if (r == 0)
        return error_set(error, -ENOENT,
                         "store \"%s\": cannot store a step of job %u: the job is not stored",
                         store->path, key->jobid);
    if (r > 0)
        r = store_start(store, SQL_STEP_FIND,
                        VALUES(U64((uint64_t)job.id), U64(step->het), U64(step->step),
                               TEXT(text_or_empty(step->node)), U64(step->tagged_at_ns)),
                        &statement, error);
    if (r == 0)
        r = store_next(store, statement, error);
    if (r < 0)
        return r;
    *row = (struct step_row){.job = job.id};
    if (r > 0) {
        row->id = sqlite3_column_int64(statement, 0);
        row->final = sqlite3_column_int(statement, 1);
    }
    return 0;
}

/* 1: there is no space for the mounts and stacks of this job's steps, because its owner has too
 * much of it. */
static int is_denied_mounts(struct store *store, int64_t job, struct error *error)
{
    int r = store_is_full(store, error);

    return r <= 0 ? r : store_has_large_share(store, job, error);
}

/* The mounts of a step as they are stored. */
static int step_mounts(struct store *store, int64_t job, const struct step_account *step,
                       struct io_mounts *ret, struct error *error)
{
    struct io_mounts limited = {0};
    int denied = is_denied_mounts(store, job, error);
    int r = denied < 0 ? denied : io_mounts_copy(&step->mounts, ret); /* merges equal keys */

    if (denied < 0)
        return r;
    if (r == 0)
        r = store_limit_mounts(ret, denied ? &full_limit : &step_limit, &limited);
    if (r < 0)
        return error_errno(error, r, "store \"%s\"", store->path);
    if (r > 0) {
        io_mounts_clear(ret);
        *ret = limited;
    }
    return 0;
}

/* Remove the rows of a stored step, all but its own. *bytes: what it took. */
static int step_take(struct store *store, const struct step_row *row, bool own, uint64_t *bytes,
                     struct error *error)
{
    const struct sql_value ids[] = {U64((uint64_t)row->id), U64((uint64_t)row->job)};
    int r = store_step_bytes(store, row->id, bytes, error);

    if (r == 0 && own && row->final)
        r = store_run(store, SQL_TOTAL_TAKE, VALUES(ids[0], U64(IO_PRIVATE_TYPES)), error);
    if (r == 0)
        r = store_run(store, SQL_JOB_TAKE, ids, 2, error);
    if (r == 0)
        r = store_take_mounts(store, row, error);
    if (r == 0)
        r = store_run(store, SQL_MPI_CLEAR, ids, 1, error);
    if (r == 0)
        r = store_run(store, SQL_BLOCK_CLEAR, ids, 1, error);
    return r < 0 ? r : store_run(store, SQL_STEP_CLEAR, ids, 1, error);
}

/* Add the rows of a step to the sums. `before`: what it took earlier, in bytes. */
static int step_give(struct store *store, const struct step_row *row, bool own, uint64_t before,
                     struct error *error)
{
    const struct sql_value ids[] = {U64((uint64_t)row->id), U64((uint64_t)row->job)};
    uint64_t bytes = 0;
    int r = store_run(store, SQL_JOB_GIVE, ids, 2, error);

    if (r == 0 && own && row->final)
        r = store_run(store, SQL_TOTAL_GIVE, VALUES(ids[0], U64(IO_PRIVATE_TYPES)), error);
    if (r == 0)
        r = store_step_bytes(store, row->id, &bytes, error);
    return r < 0 ? r : store_change_share(store, row->job, bytes, before, error);
}

/* Subtract the stored rows from the sums, change the rows, and add them again: each sum counts a
 * step once, no matter how often it is written. */
static int step_write(struct store *store, const void *arg, struct error *error)
{
    const struct step_write *w = arg;
    struct io_mounts mounts CLEANUP(io_mounts_clear) = {0};
    struct step_row row = {0};
    uint64_t before = 0;
    bool old, own;
    int r = store_find_step(store, w->key, w->step, &row, error);

    if (r == 0)
        r = step_mounts(store, row.job, w->step, &mounts, error);
    if (r < 0)
        return r;
    old = row.id != 0;
    own = store_is_own(store, w->step);
    r = store_take_baseline(store, row.job, error);
    if (r == 0 && old)
        r = step_take(store, &row, own, &before, error);
    if (r == 0)
        r = step_row_put(store, &row, w, &mounts, error);
    if (r == 0)
        r = store_put_mpi(store, row.id, w->step->mpi, error);
    if (r == 0)
        r = store_put_block(store, row.id, w->step->block, error);
    for (size_t i = 0; r == 0 && i < mounts.n; i++)
        r = step_mount_put(store, &row, &mounts.items[i], error);
    if (r == 0 && old) /* a mount may have been renamed */
        r = store_run(store, SQL_JOB_MOUNT_TIDY, VALUES(U64((uint64_t)row.job)), error);
    row.final |= w->final;
    return r < 0 ? r : step_give(store, &row, own, before, error);
}

int store_put_step(struct store *store, const struct job_key *key, const struct step_account *step,
                   bool final, struct error *error)
{
    return store_write(store, step_write,
                       &(struct step_write){.key = key, .step = step, .final = final}, error);
}

static int stacks_write(struct store *store, const void *arg, struct error *error)
{
    const struct step_write *w = arg;
    uint64_t before = 0, bytes = 0;
    struct step_row row = {0};
    int r = store_find_step(store, w->key, w->step, &row, error);

    if (r == 0 && !row.id)
        return error_set(error, -ENOENT, "a step of job %u is not stored", w->key->jobid);
    if (r == 0)
        r = store_step_bytes(store, row.id, &before, error);
    if (r == 0)
        r = is_denied_mounts(store, row.job, error);
    if (r >= 0)
        r = store_replace_stacks(store, row.id, w->stacks, r > 0, error);
    if (r == 0)
        r = store_step_bytes(store, row.id, &bytes, error);
    return r < 0 ? r : store_change_share(store, row.job, bytes, before, error);
}

int store_put_stacks(struct store *store, const struct job_key *key,
                     const struct step_account *step, const struct stack_profile *profile,
                     struct error *error)
{
    return store_write(store, stacks_write,
                       &(struct step_write){.key = key, .step = step, .stacks = profile}, error);
}

int store_step_requests(struct store *store, const struct job_key *key,
                        const struct step_account *step, uint64_t *ret, struct error *error)
{
    struct step_row row = {0};
    int64_t requests = 0;
    int r = store_find_step(store, key, step, &row, error);

    if (r == 0 && row.final)
        r = find_id(store, SQL_STEP_REQUESTS, VALUES(U64((uint64_t)row.id)), &requests, error);
    if (r < 0)
        return r;
    *ret = (uint64_t)requests;
    return 0;
}

struct node_write {
    const struct job_key *key;
    const char *node;
};

static int node_write(struct store *store, const void *arg, struct error *error)
{
    const struct node_write *w = arg;
    struct job_row row;
    int r = store_find_job(store, w->key, &row, error);

    if (r == 0)
        return error_set(error, -ENOENT, "store \"%s\": job %u is not stored", store->path,
                         w->key->jobid);
    if (r > 0)
        r = store_run(store, SQL_NODE_PUT, VALUES(U64((uint64_t)row.id), TEXT(w->node)), error);
    if (r == 0)
        r = store_run(store, SQL_NODE_COUNT, VALUES(U64((uint64_t)row.id)), error);
    return r < 0 ? r : store_settle_baseline(store, row.id, error);
}

int store_put_node(struct store *store, const struct job_key *key, const char *node,
                   struct error *error)
{
    return store_write(store, node_write, &(struct node_write){key, node}, error);
}

struct ops_write {
    const struct job_key *key;
    uint64_t ops;
};

static int read_elsewhere(struct store *store, int64_t job, uint64_t *ops, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_JOB_ELSEWHERE, VALUES(U64((uint64_t)job)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0 && io_ops_parse(column_text(row, 0), ops) < 0)
        *ops = 0; /* unreadable: overwrite it */
    return r;
}

static int ops_write(struct store *store, const void *arg, struct error *error)
{
    const struct ops_write *w = arg;
    _free_ char *text = NULL;
    struct job_row row;
    uint64_t before = 0;
    int r = store_find_job(store, w->key, &row, error);

    if (r == 0)
        return error_set(error, -ENOENT, "store \"%s\": job %u is not stored", store->path,
                         w->key->jobid);
    if (r > 0)
        r = read_elsewhere(store, row.id, &before, error);
    if (r < 0 || (before | w->ops) == before)
        return r < 0 ? r : 0;
    if (io_ops_text(before | w->ops, &text) < 0)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    return store_run(store, SQL_JOB_ELSEWHERE_PUT, VALUES(U64((uint64_t)row.id), TEXT(text)),
                     error);
}

int store_put_unsupported(struct store *store, const struct job_key *key, uint64_t ops,
                          struct error *error)
{
    return store_write(store, ops_write, &(struct ops_write){key, ops}, error);
}

struct end_write {
    const struct job_key *key;
    const struct slurm_end *end;
};

static int end_write(struct store *store, const void *arg, struct error *error)
{
    const struct end_write *w = arg;
    const struct slurm_end *end = w->end;
    struct job_row row;
    int r = store_find_job(store, w->key, &row, error);

    if (r == 0 || (r > 0 && !row.ended))
        return error_set(error, -ENOENT, "store \"%s\": the end of job %u is not stored",
                         store->path, w->key->jobid);
    if (r < 0)
        return r;
    return store_run(store, SQL_JOB_SLURM_PUT,
                     VALUES(U64((uint64_t)row.id), TEXT(slurm_state_name(end->state)),
                            end->has_exit ? U64(end->exit_code) : NONE,
                            end->has_exit ? U64(end->exit_signal) : NONE),
                     error);
}

int store_put_slurm_end(struct store *store, const struct job_key *key, const struct slurm_end *end,
                        struct error *error)
{
    return store_write(store, end_write, &(struct end_write){key, end}, error);
}
