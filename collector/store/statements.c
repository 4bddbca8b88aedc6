/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/store_impl.h"

#include <string.h>

#include "common/clock.h"

/* The errno of the system call that failed, if it is more specific than the code of SQLite. */
static int system_errno(const struct store *store)
{
    switch (store->db ? sqlite3_system_errno(store->db) : 0) {
    case EACCES:
    case EPERM:
        return -EACCES;
    case EROFS:
        return -EROFS;
    case ENOSPC:
    case EDQUOT:
        return -ENOSPC;
    case ENOENT:
        return -ENOENT;
    case EMFILE:
    case ENFILE:
        return -EMFILE;
    default:
        return -EIO;
    }
}

static bool is_canceled(const struct store *store)
{
    return store->canceled && __atomic_load_n(store->canceled, __ATOMIC_RELAXED);
}

static int sql_errno(const struct store *store, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -EMEDIUMTYPE;
    case SQLITE_FULL:
        return -ENOSPC;
    case SQLITE_READONLY:
        return -EROFS;
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -EACCES;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -EBUSY;
    case SQLITE_NOMEM:
        return -ENOMEM;
    case SQLITE_INTERRUPT:
        return is_canceled(store) ? -ECANCELED : -ETIMEDOUT;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE:
        return -EINVAL;
    case SQLITE_TOOBIG:
        return -EFBIG;
    case SQLITE_ERROR: /* a table or column is missing: not our schema */
    case SQLITE_SCHEMA:
        return -EBADMSG;
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        return system_errno(store);
    default:
        return -EIO;
    }
}

int store_error(const struct store *store, struct error *error, int rc, const char *what)
{
    int code = sql_errno(store, rc);
    const char *reason = store->db && (sqlite3_errcode(store->db) & 0xff) == (rc & 0xff)
                             ? sqlite3_errmsg(store->db)
                             : sqlite3_errstr(rc);

    if (code == -ETIMEDOUT)
        reason = "it took too long";
    else if (code == -ECANCELED)
        reason = "it was canceled";
    return error_set(error, code, "store \"%s\": %.60s: %s (%d)", store->path, what, reason, rc);
}

int store_exec(struct store *store, const char *sql, struct error *error)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : store_error(store, error, rc, sql);
}

int store_number(struct store *store, const char *sql, int64_t *ret, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
    int r = 0;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int64(statement, 0);
    else
        r = store_error(store, error, rc == SQLITE_DONE ? SQLITE_ERROR : rc, sql);
    (void)sqlite3_finalize(statement);
    return r;
}

static int bind(sqlite3_stmt *statement, int index, const struct sql_value *value)
{
    switch (value->type) {
    case SQL_U64:
        return sqlite3_bind_int64(statement, index,
                                  value->number > INT64_MAX ? INT64_MAX : (int64_t)value->number);
    case SQL_TEXT: /* a NULL pointer binds SQL NULL */
        return sqlite3_bind_text(statement, index, value->text, -1, SQLITE_STATIC);
    case SQL_NONE:
        break;
    }
    return sqlite3_bind_null(statement, index);
}

/* Prepare the statement at its first use. */
static int statement_get(struct store *store, enum sql_query query, sqlite3_stmt **ret,
                         struct error *error)
{
    sqlite3_stmt **statement = &store->statements[query];

    if (!*statement) {
        int rc = sqlite3_prepare_v3(store->db, sql_queries[query], -1, SQLITE_PREPARE_PERSISTENT,
                                    statement, NULL);

        if (rc != SQLITE_OK)
            return store_error(store, error, rc, sql_query_names[query]);
    }
    *ret = *statement;
    return 0;
}

static const char *statement_name(const struct store *store, const sqlite3_stmt *statement)
{
    for (int i = 0; i < SQL_QUERY_COUNT; i++)
        if (store->statements[i] == statement)
            return sql_query_names[i];
    return "query";
}

int store_start(struct store *store, enum sql_query query, const struct sql_value *values, size_t n,
                sqlite3_stmt **ret, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = statement_get(store, query, &statement, error);

    if (r < 0)
        return r;
    (void)sqlite3_reset(statement);
    (void)sqlite3_clear_bindings(statement);
    for (size_t i = 0; i < n; i++) {
        int rc = bind(statement, (int)i + 1, &values[i]);

        if (rc != SQLITE_OK)
            return store_error(store, error, rc, sql_query_names[query]);
    }
    *ret = statement;
    return 0;
}

int store_next(struct store *store, sqlite3_stmt *statement, struct error *error)
{
    int rc = sqlite3_step(statement);
    int r;

    if (rc == SQLITE_ROW)
        return 1;
    r = rc == SQLITE_DONE ? 0 : store_error(store, error, rc, statement_name(store, statement));
    (void)sqlite3_reset(statement);
    return r;
}

int store_run(struct store *store, enum sql_query query, const struct sql_value *values, size_t n,
              struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = store_start(store, query, values, n, &statement, error);

    while (r >= 0 && (r = store_next(store, statement, error)) > 0)
        ;
    return r;
}

static int is_over(void *arg)
{
    const struct store *store = arg;

    return is_canceled(store) || (store->limit_ns && clock_ns(CLOCK_MONOTONIC) > store->limit_ns);
}

/* 1,000 steps of the virtual machine take about 20 us; reading the clock takes 30 ns. */
static void watch(struct store *store)
{
    sqlite3_progress_handler(store->db, 1000, is_over, store);
}

void store_limit(struct store *store, unsigned ms)
{
    store->limit_ns = ms ? clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS : 0;
    watch(store);
}

void store_cancel_on(struct store *store, const bool *canceled)
{
    store->canceled = canceled;
    watch(store);
}
