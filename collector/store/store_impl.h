/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the store share: the connection, its statements, and SQLite's errors. */
#ifndef JOBIO_COLLECTOR_STORE_STORE_IMPL_H
#define JOBIO_COLLECTOR_STORE_STORE_IMPL_H

#include <sqlite3.h>

#include "collector/store/store.h"
#include "common/account_text.h"
#include "common/cleanup.h"
#include "sql/text.h"

#define STORE_APPLICATION 0x4a494f31 /* "JIO1" */

/* The sums of blocks of days (table rollup): what of them is kept, and how far the making of them
 * is. */
enum { ROLLUP_SHORT, ROLLUP_LONG, ROLLUP_WIDTHS };
struct store_rollup {
    bool off;       /* nobody reads them */
    uint64_t many;  /* a store of fewer jobs has none */
    unsigned few;   /* nor has a block of fewer, which is as soon read itself; <= piece */
    unsigned piece; /* jobs that are summed up in one go, while nothing else is written */
    uint64_t at_ns[ROLLUP_WIDTHS]; /* blocks before this are as they shall be */
    uint64_t rest_ns;              /* real time until which none is made */
    uint64_t deleted_ns;           /* end of the job that was deleted last */
};

struct store {
    sqlite3 *db;
    char *path;
    char *node; /* whose totals and deliveries it keeps; NULL: of all */
    bool read_only;
    int lock; /* held by the one writer; -1 for readers */
    uint64_t keep_ns, keep_bytes;
    sqlite3_stmt *statements[SQL_QUERY_COUNT]; /* prepared at the first use */
    bool final;                                /* the level of synchronous that is set: FULL */
    int failed;                                /* what broke the open transaction; 0: nothing */
    uint64_t limit_ns;                         /* CLOCK_MONOTONIC; 0: none */
    const bool *canceled;                      /* set by another thread; may be NULL */
    uint64_t mounts_at;  /* where the sweep of unused mounts is; UINT64_MAX: it rests */
    uint64_t normal_day; /* up to this day, since 1970, old latencies were forgotten; 0: never */
    struct store_rollup rollup;
};

/* A parameter of a statement. Numbers above INT64_MAX become INT64_MAX; text is not copied, so it
 * must live until the statement has run; NULL is SQL's NULL. */
struct sql_value {
    enum { SQL_U64, SQL_TEXT, SQL_NONE } type;
    uint64_t number;
    const char *text;
};
#define U64(n)                         \
    (struct sql_value)                 \
    {                                  \
        .type = SQL_U64, .number = (n) \
    }
#define TEXT(t)                       \
    (struct sql_value)                \
    {                                 \
        .type = SQL_TEXT, .text = (t) \
    }
#define NONE             \
    (struct sql_value)   \
    {                    \
        .type = SQL_NONE \
    }
#define VALUES(...)                          \
    (const struct sql_value[]){__VA_ARGS__}, \
        sizeof((const struct sql_value[]){__VA_ARGS__}) / sizeof(struct sql_value)

/* The negative errno of a result code of SQLite; text: "store "PATH": WHAT: SQLite's reason". */
int store_error(const struct store *store, struct error *error, int rc, const char *what);

/* Run SQL text (several statements, no parameters) to its end; rows are ignored. */
int store_exec(struct store *store, const char *sql, struct error *error);
/* The one number that a PRAGMA or SELECT gives. */
int store_number(struct store *store, const char *sql, int64_t *ret, struct error *error);

/* Bind the values to ?1, ?2... of a named query. The statement stays the store's: step it with
 * store_next until that returns 0, or let CLEANUP(store_resetp) end it. */
int store_start(struct store *store, enum sql_query query, const struct sql_value *values, size_t n,
                sqlite3_stmt **ret, struct error *error);
/* 1: a row; 0: the end. */
int store_next(struct store *store, sqlite3_stmt *statement, struct error *error);
/* start + next until the end. */
int store_run(struct store *store, enum sql_query query, const struct sql_value *values, size_t n,
              struct error *error);

static inline void store_resetp(sqlite3_stmt **statement)
{
    if (*statement)
        (void)sqlite3_reset(*statement);
}

static inline uint64_t column_u64(sqlite3_stmt *statement, int column)
{
    return (uint64_t)sqlite3_column_int64(statement, column);
}

static inline const char *column_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

/* Run `write` as one unit inside the open transaction, or as a final one of its own. */
int store_write(struct store *store, int (*write)(struct store *, const void *, struct error *),
                const void *arg, struct error *error);

/* The rows of the newest holder of a job number, and of a step of it. */
struct job_row {
    int64_t id;
    bool ended;
    uint64_t end_ns;
};
struct step_row {
    int64_t job, id; /* id 0: not stored yet */
    bool final;      /* as it is stored */
};
/* 1: found. */
int store_find_job(struct store *store, const struct job_key *key, struct job_row *ret,
                   struct error *error);
/* 0: row->id says whether it is stored already. -ENOENT: its job is not. */
int store_find_step(struct store *store, const struct job_key *key, const struct step_account *step,
                    struct step_row *row, struct error *error);
/* The step ran on the store's own node. */
bool store_is_own(const struct store *store, const struct step_account *step);

/* The sums of io_sum_columns, as parameters of a statement. */
void store_sum_values(const struct io_sums *sums, struct sql_value ret[IO_SUM_COLUMNS]);
/* Read every column of the row that is named as a number of the field table. */
void store_read_numbers(sqlite3_stmt *row, struct io_counter *ret);

/* Add an account to the sums of a job on a mount; subtract what is stored of a step from them. */
int store_give_mount(struct store *store, int64_t job, int64_t mount, const struct io_account *io,
                     struct error *error);
int store_take_mounts(struct store *store, const struct step_row *step, struct error *error);

/* From a row of job_list, of step_list; the peaks of a job into its mounts. */
int store_read_job(struct store *store, sqlite3_stmt *row, struct job_account *job,
                   struct error *error);
int store_read_step(struct store *store, sqlite3_stmt *row, struct step_account *step,
                    struct error *error);
int store_read_peaks(struct store *store, int64_t id, struct job_account *job, struct error *error);
/* Several statements must see one state of the store, or a job is read with half a step. */
int store_snapshot(struct store *store, bool *begun, struct error *error);
void store_snapshot_end(struct store *store, bool begun);

/* What one request of a shared transaction wrote can be undone alone. Release or undo each. */
int store_savepoint(struct store *store, struct error *error);
int store_release(struct store *store, struct error *error);
void store_undo(struct store *store);

/* Calls fail with -ECANCELED once *canceled is true, which another thread may set (atomically) at
 * any time. */
void store_cancel_on(struct store *store, const bool *canceled);

/* Refuse a file system (statfs f_type) on which WAL is not safe: -EOPNOTSUPP. */
int store_check_fs(const char *path, unsigned long magic, struct error *error);
/* What is in the file, read only. -EMEDIUMTYPE: another program's; -EPROTONOSUPPORT: newer than the
 * last of the migrations, which ends with version 0. */
struct schema_state {
    int64_t version;
    int newest;
    bool empty; /* no table yet */
};
/* A new empty file that only its owner and group may read. -EEXIST: it is there. */
int store_file_create(const char *path, struct error *error);

int store_identify(struct store *store, const struct sql_migration *migrations,
                   struct schema_state *ret, struct error *error);
/* Bring the schema to the version that the last of `migrations` leads to, or 1: `schema` for an
 * empty database, else the migrations that are missing, one transaction each, after a copy of the
 * database to PATH.vOLD. */
int store_migrate(struct store *store, const char *schema, const struct sql_migration *migrations,
                  struct error *error);

/* Inside a transaction: a step of the job is about to change, so what is counted of its latencies
 * is taken back, to be counted anew. */
int store_take_normal(struct store *store, int64_t job, struct error *error);
/* A node of the job has reported: count its latencies if that was the last one. */
int store_settle_normal(struct store *store, int64_t job, struct error *error);
/* Count jobs whose other nodes have not reported in an hour, and forget days that are not asked for
 * any more. 1: call again soon. */
int store_sweep_normal(struct store *store, uint64_t now_ns, struct error *error);

/* Make some more of the sums of blocks, inside a transaction; 1: there is more to do. */
int store_roll_up(struct store *store, uint64_t now_ns, struct error *error);
/* rollup.kind, and + ROLLUP_MOUNTS what it is on a mount; how many days a block of it has. */
enum { ROLLUP_WHO = 1, ROLLUP_NAME, ROLLUP_START, ROLLUP_MOUNTS = 3 };
uint64_t store_rollup_days(int kind);

/* The time line of a step on a mount; *ret stays empty if there is none. */
int store_put_timeline(struct store *store, int64_t step, int64_t mount, const struct timeline *t,
                       struct error *error);
int store_get_timeline(struct store *store, int64_t step, int64_t mount, struct timeline *ret,
                       struct error *error);

#endif
