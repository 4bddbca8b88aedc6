/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>

#include "collector/store/history.h"
#include "collector/store/history_sql.h"
#include "common/clock.h"

#define QUARTER_NS (15 * NS_PER_MINUTE)

/* --- rows ------------------------------------------------------------------------------------- */

static struct io_sum sum_columns(sqlite3_stmt *row, int column)
{
    return (struct io_sum){.requests = column_u64(row, column),
                           .bytes = column_u64(row, column + 1),
                           .errors = column_u64(row, column + 2),
                           .time_ns = column_u64(row, column + 3),
                           .max_ns = column_u64(row, column + 4)};
}

/* Estimate the longest wait on a mount: the share of the mount in the total wait. */
static uint64_t part_of(uint64_t longest, uint64_t wait, uint64_t whole)
{
    return whole > wait ? (uint64_t)((double)longest * ((double)wait / (double)whole)) : longest;
}

static struct history_row row_columns(sqlite3_stmt *row)
{
    bool ended = sqlite3_column_int(row, 9);
    uint64_t wait = column_u64(row, 33);
    const char *mount = column_text(row, 17);
    uint64_t longest = column_u64(row, 15);

    return (struct history_row){
        .cluster = column_text(row, 1),
        .user = column_text(row, 2),
        .account = column_text(row, 3),
        .partition = column_text(row, 4),
        .name = column_text(row, 5),
        .mount = mount,
        .jobid = (uint32_t)column_u64(row, 6),
        .restart = (uint32_t)column_u64(row, 7),
        .uid = (uint32_t)column_u64(row, 8),
        .ended = ended,
        .complete = sqlite3_column_int(row, 10),
        .start_ns = column_u64(row, 11),
        .end_ns = ended ? column_u64(row, 12) : 0,
        .elapsed_ns = column_u64(row, 13),
        .steps = (uint32_t)column_u64(row, 14),
        .reads = sum_columns(row, 18),
        .writes = sum_columns(row, 23),
        .meta = {.requests = column_u64(row, 28),
                 .errors = column_u64(row, 29),
                 .time_ns = column_u64(row, 30),
                 .max_ns = column_u64(row, 31)},
        .errors = column_u64(row, 32),
        .wait_ns = wait,
        .array_job = (uint32_t)column_u64(row, 34),
        .array_task = (uint32_t)column_u64(row, 35),
        .slurm = store_slurm_columns(row, 36),
        .jobs = sqlite3_column_count(row) > 39 ? column_u64(row, 39) : 0,
        .longest_wait_ns = mount ? part_of(longest, wait, column_u64(row, 16)) : longest,
    };
}

static int next(struct store *store, sqlite3_stmt *statement, struct error *error)
{
    int rc = sqlite3_step(statement);

    return rc == SQLITE_ROW ? 1 : rc == SQLITE_DONE ? 0 : store_error(store, error, rc, "history");
}

/* Pass on the rows in the order of the statement. */
static int each_row(struct store *store, sqlite3_stmt *statement, history_f each, void *arg,
                    struct error *error)
{
    int r;

    while ((r = next(store, statement, error)) > 0) {
        struct history_row row = row_columns(statement);

        r = each(&row, arg);
        if (r)
            return r;
    }
    return r;
}

static int add_row(const struct history_row *row, void *arg)
{
    return history_table_add(arg, row);
}

/* --- sums of blocks ----------------------------------------------------------------------------
 * Blocks of days that lie completely within the period are read as sums, the rest as jobs.
 */

/* The kind of sums that can answer the filter; 0: none can. */
static int rollup_kind(const struct history_sql *sql)
{
    static const int kinds[] = {
        [HISTORY_NO_GROUP] = 0,
        [HISTORY_BY_USER] = ROLLUP_WHO,
        [HISTORY_BY_ACCOUNT] = ROLLUP_WHO,
        [HISTORY_BY_PARTITION] = ROLLUP_WHO,
        [HISTORY_BY_NAME] = ROLLUP_NAME,
        [HISTORY_BY_MOUNT] = ROLLUP_WHO,
        [HISTORY_BY_DAY] = ROLLUP_START,
    };
    const struct history_filter *filter = sql->filter;
    bool by_mount = filter->group == HISTORY_BY_MOUNT;
    bool of_someone =
        filter->uid != UINT32_MAX || filter->user || filter->account || filter->partition;
    int kind = kinds[filter->group];

    if (filter->jobs || filter->nodes || filter->name || filter->slurm_states ||
        filter->state == HISTORY_RUNNING)
        return 0;
    if (kind != ROLLUP_WHO && of_someone)
        return 0;
    /* The sums would count a job once for each of the mounts. */
    if (!by_mount && sql->n_mounts > 1)
        return 0;
    return kind && (by_mount || filter->mount) ? kind + ROLLUP_MOUNTS : kind;
}

/* Adjacent blocks. */
struct span {
    uint64_t first_ns, last_ns; /* start of the first and of the last block */
    uint64_t end_ns;            /* end of the last block */
};
struct spans {
    struct span *items;
    size_t n;
};

static void spans_clear(struct spans *spans)
{
    free(spans->items);
}

static int add_block(struct spans *spans, uint64_t first_ns, uint64_t end_ns)
{
    struct span *last = spans->n ? &spans->items[spans->n - 1] : NULL;
    struct span *grown;

    if (last && last->end_ns == first_ns) {
        last->last_ns = first_ns;
        last->end_ns = end_ns;
        return 0;
    }
    grown = reallocarray(spans->items, spans->n + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    spans->items = grown;
    grown[spans->n++] = (struct span){first_ns, first_ns, end_ns};
    return 0;
}

static int list_spans(struct store *store, const struct history_sql *sql, int kind,
                      struct spans *ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(
        store, SQL_ROLLUP_LIST,
        VALUES(U64(store_rollup_days(kind)), U64(sql->since_ns), U64(sql->until_ns)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0)
        if (add_block(ret, column_u64(row, 0), column_u64(row, 1)) < 0)
            return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    return r;
}

/* The sum may have overflowed in the table of blocks. */
static bool is_full(const struct io_sum *sum)
{
    return sum->requests >= INT64_MAX || sum->bytes >= INT64_MAX || sum->errors >= INT64_MAX ||
           sum->time_ns >= INT64_MAX;
}

struct block_rows {
    struct history_table *table;
    bool by_day;
};

/* 1: the block is unusable: a sum may have overflowed, or the local time zone splits it. */
static int add_block_row(const struct history_row *row, void *arg)
{
    const struct block_rows *rows = arg;

    if (is_full(&row->reads) || is_full(&row->writes) || is_full(&row->meta) ||
        row->errors >= INT64_MAX || row->wait_ns >= INT64_MAX || row->elapsed_ns >= INT64_MAX)
        return 1;
    if (rows->by_day &&
        !history_is_one_day(row->start_ns - row->start_ns % QUARTER_NS,
                            row->start_ns - row->start_ns % QUARTER_NS + QUARTER_NS - 1))
        return 1;
    return history_table_add(rows->table, row);
}

/* Pass on the rows whose end is from `from` to `to`. */
static int add_between(struct store *store, sqlite3_stmt *statement, uint64_t from, uint64_t to,
                       history_f each, void *arg, struct error *error)
{
    (void)sqlite3_reset(statement);
    history_sql_bind(statement, ":from", from);
    history_sql_bind(statement, ":to", to);
    return each_row(store, statement, each, arg, error);
}

static void finalizep(sqlite3_stmt **statement)
{
    (void)sqlite3_finalize(*statement);
}

/* 1: the blocks are unusable. */
static int add_blocks(struct store *store, const struct history_sql *sql, int kind,
                      const struct spans *spans, struct history_table *table, struct error *error)
{
    CLEANUP(finalizep) sqlite3_stmt *statement = NULL;
    struct block_rows rows = {table, sql->filter->group == HISTORY_BY_DAY};
    int r = history_sql_prepare(store, sql_history_rollup, sql, &statement, error);

    if (r == 0)
        history_sql_bind(statement, ":kind", (uint64_t)kind);
    for (size_t i = 0; i < spans->n && r == 0; i++)
        r = add_between(store, statement, spans->items[i].first_ns, spans->items[i].last_ns,
                        add_block_row, &rows, error);
    return r;
}

/* Add the jobs that ended before, between and after the blocks. */
static int add_pieces(struct store *store, const struct history_sql *sql, const struct spans *spans,
                      struct history_table *table, struct error *error)
{
    CLEANUP(finalizep) sqlite3_stmt *statement = NULL;
    uint64_t from = sql->since_ns, last = sql->until_ns + sql->longest_ns;
    int r = history_sql_prepare(store, sql_history_piece, sql, &statement, error);

    for (size_t i = 0; i <= spans->n && r == 0; i++) {
        uint64_t to = i < spans->n ? spans->items[i].first_ns - 1 : last;

        if (i == spans->n || from < spans->items[i].first_ns)
            r = add_between(store, statement, from, to, add_row, table, error);
        from = i < spans->n ? spans->items[i].end_ns : 0;
    }
    return r;
}

static int add_running(struct store *store, const struct history_sql *sql,
                       struct history_table *table, struct error *error)
{
    CLEANUP(finalizep) sqlite3_stmt *statement = NULL;
    int r;

    if (sql->filter->state == HISTORY_ENDED)
        return 0;
    r = history_sql_prepare(store, sql_history_jobs, sql, &statement, error);
    if (r == 0)
        history_sql_bind(statement, ":state", HISTORY_RUNNING);
    return r < 0 ? r : each_row(store, statement, add_row, table, error);
}

/* 1: the table is complete; 0: make it from the jobs alone. */
static int add_rolled_up(struct store *store, const struct history_sql *sql,
                         struct history_table *table, struct error *error)
{
    CLEANUP(spans_clear) struct spans spans = {0};
    int kind = store->rollup.off ? 0 : rollup_kind(sql);
    int r = kind ? list_spans(store, sql, kind, &spans, error) : 0;

    if (r < 0 || !spans.n)
        return r;
    r = add_blocks(store, sql, kind, &spans, table, error);
    if (r)
        return r < 0 ? r : 0;
    r = add_pieces(store, sql, &spans, table, error);
    if (r == 0)
        r = add_running(store, sql, table, error);
    return r < 0 ? r : 1;
}

static int add_jobs(struct store *store, const struct history_sql *sql, struct history_table *table,
                    struct error *error)
{
    CLEANUP(finalizep) sqlite3_stmt *statement = NULL;
    int r = history_sql_prepare(store, sql_history_jobs, sql, &statement, error);

    return r < 0 ? r : each_row(store, statement, add_row, table, error);
}

/* --- tables ----------------------------------------------------------------------------------- */

static int fill_table(struct store *store, const struct history_sql *sql,
                      struct history_table **table, struct error *error)
{
    int r = *table ? add_rolled_up(store, sql, *table, error) : -ENOMEM;

    if (r)
        return r < 0 ? r : 0;
    history_table_destroy(*table);
    *table = history_table_create(sql->filter);
    return *table ? add_jobs(store, sql, *table, error) : -ENOMEM;
}

static void table_destroyp(struct history_table **table)
{
    history_table_destroy(*table);
}

static int make_table(struct store *store, const struct history_sql *sql,
                      struct history_table **ret, struct error *error)
{
    int r;

    *ret = history_table_create(sql->filter);
    r = fill_table(store, sql, ret, error);
    return r == -ENOMEM ? error_errno(error, r, "store \"%s\"", store->path) : r;
}

static int each_job(struct store *store, const struct history_sql *sql, history_f each, void *arg,
                    struct error *error)
{
    CLEANUP(finalizep) sqlite3_stmt *statement = NULL;
    int r = history_sql_prepare(store, sql_history_jobs, sql, &statement, error);

    return r < 0 ? r : each_row(store, statement, each, arg, error);
}

/* The longest run, the blocks and the jobs are read in one snapshot; otherwise a job that ends
 * meanwhile could be in none of them. A table is passed on after the snapshot, which holds back
 * checkpoints. */
int store_history(struct store *store, const struct history_filter *filter, history_f each,
                  void *arg, struct error *error)
{
    CLEANUP(table_destroyp) struct history_table *table = NULL;
    CLEANUP(history_sql_clear) struct history_sql sql = {0};
    bool begun;
    int r = store_snapshot(store, &begun, error);

    if (r < 0)
        return r;
    r = history_sql_init(store, filter, &sql, error);
    if (r == 0)
        r = history_sql_is_table(filter) ? make_table(store, &sql, &table, error)
                                         : each_job(store, &sql, each, arg, error);
    store_snapshot_end(store, begun);
    return r == 0 && table ? history_table_each(table, each, arg) : r;
}
