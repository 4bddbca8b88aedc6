/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the store: the connection, its statements, and the errors of SQLite. */
#ifndef JOBIO_COLLECTOR_STORE_STORE_IMPL_H
#define JOBIO_COLLECTOR_STORE_STORE_IMPL_H

#include <sqlite3.h>

#include "collector/store/store.h"
#include "common/account_text.h"
#include "common/cleanup.h"
#include "sql/text.h"

#define STORE_APPLICATION 0x4a494f31 /* "JIO1" */

/* Table rollup, the sums over blocks of days: limits and progress. */
enum { ROLLUP_SHORT, ROLLUP_LONG, ROLLUP_WIDTHS };
struct store_rollup {
    bool off;       /* disabled */
    uint64_t many;  /* a smaller store has no blocks */
    unsigned few;   /* a smaller block is not made: its jobs are read quickly; <= piece */
    unsigned piece; /* jobs added in one transaction */
    uint64_t at_ns[ROLLUP_WIDTHS]; /* blocks before this are finished */
    uint64_t rest_ns;              /* pause until then, real time */
    uint64_t deleted_ns;           /* end of the last deleted job */
};

struct store {
    sqlite3 *db;
    char *path;
    char *node; /* node of the totals and deliveries; NULL: all */
    bool read_only;
    int lock; /* held by the one writer; -1 for readers */
    uint64_t keep_ns, keep_bytes;
    sqlite3_stmt *statements[SQL_QUERY_COUNT]; /* prepared on first use */
    sqlite3_stmt *rollback;                    /* prepared at the start: needs no memory */
    bool left_open;                            /* a transaction that could not be rolled back */
    bool final;                                /* synchronous is FULL */
    int failed;                                /* error of the open transaction; 0: none */
    uint64_t limit_ns;                         /* CLOCK_MONOTONIC; 0: none */
    const bool *canceled;                      /* set by another thread; may be NULL */
    uint64_t mounts_at;     /* position of the sweep of unused mounts; UINT64_MAX: idle */
    uint64_t deleted_early; /* jobs deleted within an hour of their end, since store_open() */
    uint64_t baseline_day; /* last day, since 1970, on which old latencies were dropped; 0: never */
    struct store_rollup rollup;
};

/* A parameter of a statement. Numbers are limited to INT64_MAX. Text is not copied: it must live
 * until the statement has run. A NULL text is SQL NULL. */
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
/* Run a PRAGMA or SELECT that returns one number. */
int store_number(struct store *store, const char *sql, int64_t *ret, struct error *error);

/* Bind the values to ?1, ?2, ... of a named query. The store keeps the statement: call store_next
 * until it returns 0, or reset it with CLEANUP(store_resetp). */
int store_start(struct store *store, enum sql_query query, const struct sql_value *values, size_t n,
                sqlite3_stmt **ret, struct error *error);
/* 1: a row; 0: the end. */
int store_next(struct store *store, sqlite3_stmt *statement, struct error *error);
/* store_start, and store_next until the end. */
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
/* The columns slurm_state, exit_code and exit_signal, the first of which is `column`. */
static inline struct slurm_end store_slurm_columns(sqlite3_stmt *statement, int column)
{
    return (struct slurm_end){
        .state = slurm_state_parse(column_text(statement, column)),
        .has_exit = sqlite3_column_type(statement, column + 1) != SQLITE_NULL,
        .exit_code = (uint32_t)column_u64(statement, column + 1),
        .exit_signal = (uint32_t)column_u64(statement, column + 2),
    };
}

/* Run `write` as a savepoint of the open transaction, or as a final transaction of its own. */
int store_write(struct store *store, int (*write)(struct store *, const void *, struct error *),
                const void *arg, struct error *error);
/* Savepoints: undo one request of a shared transaction. Each must be released or undone. */
int store_savepoint(struct store *store, struct error *error);
int store_release(struct store *store, struct error *error);
void store_undo(struct store *store);
/* Start a read transaction unless one is open, so that several statements see one state. */
int store_snapshot(struct store *store, bool *begun, struct error *error);
void store_snapshot_end(struct store *store, bool begun);

/* Rows of the newest holder of a job number, and of one of its steps. */
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
/* 0: row->id is 0 if the step is not stored yet. -ENOENT: the job is not stored. */
int store_find_step(struct store *store, const struct job_key *key, const struct step_account *step,
                    struct step_row *row, struct error *error);
/* The step ran on the store's own node. */
bool store_is_own(const struct store *store, const struct step_account *step);

/* The rows of a step: at most this many mounts, and bytes of their names. */
struct mount_limit {
    size_t mounts, name_bytes;
    bool timelines; /* keep them */
};
/* 1: *ret is the list with only the mounts that cause the most wait and, as "(other mounts)", the
 * sum of the others; clear it with io_mounts_clear(). 0: the list is within the limit. -ENOMEM. */
int store_limit_mounts(const struct io_mounts *mounts, const struct mount_limit *limit,
                       struct io_mounts *ret);
/* That sum in a list; NULL: it has none. */
struct io_mount *store_other_mount(const struct io_mounts *mounts);

/* About how many bytes the rows of a step take. */
int store_step_bytes(struct store *store, int64_t step, uint64_t *ret, struct error *error);
/* Add and subtract bytes of the owner of a job. */
int store_change_share(struct store *store, int64_t job, uint64_t more, uint64_t less,
                       struct error *error);
/* Count the bytes of all users, once in the life of a store. */
int store_count_shares(struct store *store, struct error *error);
/* 1: the owner of the job has at least half as many bytes as the user with the most. */
int store_has_large_share(struct store *store, int64_t job, struct error *error);
/* The size of the database without free pages. */
int store_used_bytes(struct store *store, uint64_t *ret, struct error *error);
/* The size above which the store is full (store_is_full), and above which all ended jobs may be
 * deleted. */
uint64_t store_full_bytes(const struct store *store);
uint64_t store_hard_limit(const struct store *store);

/* The sums of io_sum_columns, as parameters of a statement. */
void store_sum_values(const struct io_sums *sums, struct sql_value ret[IO_SUM_COLUMNS]);
/* Read each column whose name is that of a number in the field table. */
void store_read_numbers(sqlite3_stmt *row, struct io_counter *ret);

/* Add an account to the sums of a job on a mount; subtract the stored account of a step from them.
 */
int store_give_mount(struct store *store, int64_t job, int64_t mount, const struct io_account *io,
                     struct error *error);
int store_take_mounts(struct store *store, const struct step_row *step, struct error *error);

/* Read a row of job_list or step_list; read the peaks of a job into its mounts. */
int store_read_job(struct store *store, sqlite3_stmt *row, struct job_account *job,
                   struct error *error);
int store_read_step(struct store *store, sqlite3_stmt *row, struct step_account *step,
                    struct error *error);
int store_read_peaks(struct store *store, int64_t id, struct job_account *job, struct error *error);
/* Calls fail with -ECANCELED once *canceled is true. Another thread may set it atomically. */
void store_cancel_on(struct store *store, const bool *canceled);

/* Returns -EOPNOTSUPP for a file system (f_type of statfs) on which WAL is not safe. */
int store_check_fs(const char *path, unsigned long magic, struct error *error);
/* Check the path of a database, without opening the file. *exists: there is a file. -ELOOP,
 * -EISDIR, -EINVAL: it is not a regular file. */
int store_file_check(const char *path, bool *exists, struct error *error);
/* Take the lock of the only writer; *ret is a descriptor that holds it. -EBUSY. */
int store_file_lock(const char *path, int *ret, struct error *error);
/* Create an empty file that only its owner and group may read. -EEXIST. */
int store_file_create(const char *path, struct error *error);

/* Check the contents of the file, read-only. -EMEDIUMTYPE: the database of another program;
 * -EPROTONOSUPPORT: newer than the last migration. `migrations` ends with version 0. */
struct schema_state {
    int64_t version;
    int newest;
    bool empty; /* no table yet */
};
int store_identify(struct store *store, const struct sql_migration *migrations,
                   struct schema_state *ret, struct error *error);
/* Update the schema to the version of the last migration: run `schema` in an empty database, else
 * the missing migrations, one transaction each, after a copy of the database to PATH.vOLD. */
int store_migrate(struct store *store, const char *schema, const struct sql_migration *migrations,
                  struct error *error);

/* Call it inside a transaction before a step of the job changes: removes the latencies of the job
 * from the baseline; they are counted again later. */
int store_take_baseline(struct store *store, int64_t job, struct error *error);
/* Call it when a node of the job has reported: counts the latencies if it was the last node. */
int store_settle_baseline(struct store *store, int64_t job, struct error *error);
/* Count jobs whose other nodes have not reported within an hour, and drop days that are too old. 1:
 * call again soon. */
int store_sweep_baseline(struct store *store, uint64_t now_ns, struct error *error);

/* Work on the sums of blocks, inside a transaction; 1: there is more to do. */
int store_roll_up(struct store *store, uint64_t now_ns, struct error *error);
/* rollup.kind; + ROLLUP_MOUNTS: the same on a mount. Returns the days per block of a kind. */
enum { ROLLUP_WHO = 1, ROLLUP_NAME, ROLLUP_START, ROLLUP_MOUNTS = 3 };
uint64_t store_rollup_days(int kind);

/* Insert the rows of a step without any. account NULL: MPI-IO was not counted. */
int store_put_mpi(struct store *store, int64_t step, const struct mpi_account *account,
                  struct error *error);
/* Read the account of a step with that column, or NULL if it was not counted. */
int store_get_mpi(struct store *store, int64_t step, const char *incomplete,
                  struct mpi_account **ret, struct error *error);

/* The same for its requests to disks. Call store_get_block() only if they were counted. */
int store_put_block(struct store *store, int64_t step, const struct block_account *account,
                    struct error *error);
int store_get_block(struct store *store, int64_t step, bool incomplete, bool shared_at_most,
                    struct block_account **ret, struct error *error);

/* Store which code of a step waited, in place of what is stored. summed_up: without the stacks. */
int store_replace_stacks(struct store *store, int64_t step, const struct stack_profile *profile,
                         bool summed_up, struct error *error);
/* Read which code of a step waited; *ret stays NULL if that was not recorded. */
int store_get_stacks(struct store *store, int64_t step, struct stack_profile **ret,
                     struct error *error);

/* Insert the NFS requests of a step on a mount (NULL: not counted), or add them to an account. */
int store_put_rpc(struct store *store, int64_t step, int64_t mount,
                  const struct rpc_account *account, struct error *error);
int store_get_rpc(struct store *store, int64_t step, int64_t mount, struct rpc_account *to,
                  struct error *error);

/* Write or read the time line of a step on a mount; *ret stays empty if there is none. */
int store_put_timeline(struct store *store, int64_t step, int64_t mount, const struct timeline *t,
                       struct error *error);
int store_get_timeline(struct store *store, int64_t step, int64_t mount, struct timeline *ret,
                       struct error *error);

#endif
