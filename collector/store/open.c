/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* asprintf */
#include "collector/store/store_impl.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define BUSY_MS 5000
/* Limit for quick_check, which reads the whole file: 3 ms per MiB, more from a slow disk, and
 * jobiod is not ready meanwhile. In a larger file, a fault is found when a statement reaches it. */
#define CHECK_BYTES (512ll << 20)

static void store_closep(struct store **store)
{
    store_close(*store);
}
#define _store_ CLEANUP(store_closep)

static struct store *store_create(const char *path, bool read_only)
{
    struct store *store = calloc(1, sizeof(*store));

    if (!store)
        return NULL;
    store->lock = -1;
    store->read_only = read_only;
    store->mounts_at = UINT64_MAX;
    store->rollup = (struct store_rollup){.many = 400000, .few = 500, .piece = 500};
    store->path = strdup(path);
    if (!store->path) {
        free(store);
        return NULL;
    }
    return store;
}

static void db_close(struct store *store)
{
    for (int i = 0; i < SQL_QUERY_COUNT; i++)
        (void)sqlite3_finalize(TAKE_PTR(store->statements[i]));
    (void)sqlite3_finalize(TAKE_PTR(store->rollback));
    (void)sqlite3_close(TAKE_PTR(store->db));
}

void store_close(struct store *store)
{
    if (!store)
        return;
    db_close(store);
    /* Keep the lock until after the last checkpoint, which writes. */
    if (store->lock >= 0)
        (void)close(store->lock);
    free(store->path);
    free(store->node);
    free(store);
}

/* Run a PRAGMA that reports its result as a row: journal_mode can fail without an error, and
 * quick_check lists faults. */
static int pragma_expect(struct store *store, const char *pragma, const char *want, int code,
                         struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->db, pragma, -1, &statement, NULL);
    const char *got;
    int r = 0;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW) {
        r = store_error(store, error, rc == SQLITE_DONE ? SQLITE_ERROR : rc, pragma);
    } else {
        got = column_text(statement, 0);
        if (!got || strcmp(got, want))
            r = error_set(error, code, "store \"%s\": %s: %s", store->path, pragma,
                          got ? got : "no answer");
    }
    (void)sqlite3_finalize(statement);
    return r;
}

static int writer_check(struct store *store, struct error *error)
{
    int64_t pages, page_size;
    int r = store_number(store, "PRAGMA page_count", &pages, error);

    if (r == 0)
        r = store_number(store, "PRAGMA page_size", &page_size, error);
    if (r < 0 || pages * page_size > CHECK_BYTES)
        return r;
    return pragma_expect(store, "PRAGMA quick_check(1)", "ok", -EMEDIUMTYPE, error);
}

/* At the end of opening: many pragmas expire all prepared statements. */
static int prepare_rollback(struct store *store, struct error *error)
{
    int rc = sqlite3_prepare_v3(store->db, "ROLLBACK", -1, SQLITE_PREPARE_PERSISTENT,
                                &store->rollback, NULL);

    return rc == SQLITE_OK ? 0 : store_error(store, error, rc, "prepare the end of transactions");
}

/* auto_vacuum takes effect only before the first table exists, and before WAL mode. */
static int writer_prepare(struct store *store, bool empty, struct error *error)
{
    int r = 0;

    if (sqlite3_db_readonly(store->db, "main"))
        return error_set(error, -EROFS, "store \"%s\": the file cannot be written", store->path);
    if (empty)
        r = store_exec(store, "PRAGMA auto_vacuum = 2", error);
    if (r == 0)
        r = pragma_expect(store, "PRAGMA journal_mode = WAL", "wal", -EOPNOTSUPP, error);
    if (r == 0)
        r = store_exec(store,
                       "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;"
                       "PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 16777216;"
                       "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2000;",
                       error);
    if (r == 0)
        r = writer_check(store, error);
    store->final = true;
    return r;
}

static int db_open(struct store *store, const char *name, int flags, struct error *error)
{
    int rc = sqlite3_open_v2(name, &store->db, flags | SQLITE_OPEN_NOMUTEX, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(store->db, BUSY_MS);
    if (rc == SQLITE_OK)
        rc = sqlite3_extended_result_codes(store->db, 1);
    return rc == SQLITE_OK ? 0 : store_error(store, error, rc, "open");
}

/* A file name as a URI: quotes '?', '#' and '%'. */
static char *reader_uri(const char *path, const char *options)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-";
    char *uri = malloc(strlen(path) * 3 + strlen(options) + 8);
    char *p = uri;

    if (!uri)
        return NULL;
    p += sprintf(p, "file:");
    for (; *path; path++)
        p += strchr(plain, *path) ? sprintf(p, "%c", *path)
                                  : sprintf(p, "%%%02x", (unsigned char)*path);
    (void)sprintf(p, "?%s", options);
    return uri;
}

static int reader_identify(struct store *store, const char *options, struct schema_state *state,
                           struct error *error)
{
    _free_ char *uri = reader_uri(store->path, options);
    int r;

    if (!uri)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    r = db_open(store, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, error);
    return r < 0 ? r : store_identify(store, sql_migrations, state, error);
}

/* For a reader that creates no files: WAL mode needs those of the WAL, unless there is no writer.
 */
static const char *quiet_options(const char *path)
{
    _free_ char *name = NULL;

    return asprintf(&name, "%s-wal", path) >= 0 && access(name, F_OK) < 0 ? "mode=ro&immutable=1"
                                                                          : "mode=ro";
}

/* A store of a newer jobio is left as it is: closing a writer would move its WAL into the file.
 * Other errors are those of the writer. */
static int refuse_newer(const char *path, struct error *error)
{
    _store_ struct store *store = store_create(path, true);
    struct schema_state state;
    int r;

    if (!store)
        return error_errno(error, -ENOMEM, "store \"%s\"", path);
    r = reader_identify(store, quiet_options(path), &state, error);
    return r == -EPROTONOSUPPORT ? r : 0;
}

int store_open(struct store **ret, const struct store_options *options, struct error *error)
{
    _store_ struct store *store = store_create(options->path, false);
    struct schema_state state;
    bool exists;
    int r;

    if (!store)
        return error_errno(error, -ENOMEM, "store \"%s\"", options->path);
    store->keep_ns = options->keep_ns;
    store->keep_bytes = options->keep_bytes;
    if (options->node && !(store->node = strdup(options->node)))
        return error_errno(error, -ENOMEM, "store \"%s\"", options->path);
    r = store_file_check(store->path, &exists, error);
    if (r == 0 && exists)
        r = refuse_newer(store->path, error);
    if (r == 0)
        r = store_file_lock(store->path, &store->lock, error);
    if (r == 0 && !exists)
        r = store_file_create(store->path, error);
    if (r == 0)
        r = db_open(store, store->path, SQLITE_OPEN_READWRITE, error);
    if (r == 0)
        r = store_identify(store, sql_migrations, &state, error);
    if (r == 0)
        r = writer_prepare(store, state.empty, error);
    if (r == 0)
        r = store_migrate(store, sql_schema, sql_migrations, error);
    if (r == 0)
        r = prepare_rollback(store, error);
    if (r == 0)
        (void)store_count_shares(store, NULL); /* a full disk must not prevent reading */
    if (r < 0)
        return r;
    *ret = TAKE_PTR(store);
    return 0;
}

static int reader_try(struct store *store, const char *options, struct error *error)
{
    struct schema_state state;
    int r = reader_identify(store, options, &state, error);

    if (r < 0)
        return r;
    if (state.empty)
        return error_set(error, -ENODATA, "store \"%s\": it is empty", store->path);
    if (state.version != state.newest)
        return error_set(error, -EPROTONOSUPPORT,
                         "store \"%s\": made by an older jobio: start jobiod once", store->path);
    r = store_exec(store, "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY", error);
    return r == 0 ? prepare_rollback(store, error) : r;
}

/* A writer that was killed may leave committed rows in the WAL. */
static bool wal_is_empty(const char *path)
{
    _free_ char *name = NULL;
    struct stat st;

    return asprintf(&name, "%s-wal", path) >= 0 && (stat(name, &st) < 0 || st.st_size == 0);
}

static int check_tables(struct store *store, struct store_check *ret, struct error *error)
{
    struct schema_state state;
    int r = reader_identify(store, quiet_options(store->path), &state, error);

    if (r < 0)
        return r;
    ret->version = state.empty ? state.newest : state.version;
    ret->newest = state.newest;
    return writer_check(store, error);
}

static int check_writable(const char *path, struct error *error)
{
    _free_ char *directory = strdup(path);
    char *slash = directory ? strrchr(directory, '/') : NULL;
    struct statvfs fs;

    if (!slash)
        return 0;
    *slash = '\0';
    if (access(directory, W_OK) < 0)
        return error_errno(error, -errno, "store \"%s\": its directory cannot be written", path);
    if (statvfs(directory, &fs) == 0 && !fs.f_bavail && fs.f_blocks)
        return error_errno(error, -ENOSPC, "store \"%s\"", path);
    return 0;
}

int store_check(const char *path, struct store_check *ret, struct error *error)
{
    _store_ struct store *store = store_create(path, true);
    int r;

    *ret = (struct store_check){0};
    if (!store)
        return error_errno(error, -ENOMEM, "store \"%s\"", path);
    r = store_file_check(path, &ret->exists, error);
    if (r == 0 && ret->exists)
        r = check_tables(store, ret, error);
    /* systemd creates the directory. */
    if (r == -ENOENT && !ret->exists)
        return 0;
    return r < 0 ? r : check_writable(path, error);
}

bool store_error_lasts(int r)
{
    return r == -EMEDIUMTYPE || r == -EPROTONOSUPPORT || r == -EOPNOTSUPP || r == -EISDIR ||
           r == -ELOOP || r == -ENOTDIR || r == -EINVAL;
}

int store_open_reader(struct store **ret, const char *path, struct error *error)
{
    _store_ struct store *store = store_create(path, true);
    bool exists = false;
    int r;

    if (!store)
        return error_errno(error, -ENOMEM, "store \"%s\"", path);
    r = store_file_check(path, &exists, error);
    if (r == 0 && !exists)
        r = error_errno(error, -ENOENT, "store \"%s\"", path);
    if (r == 0)
        r = reader_try(store, "mode=ro", error);
    /* WAL mode needs the -shm file. If it neither exists nor can be created, there is no writer. */
    if ((r == -EROFS || r == -EACCES || r == -EIO || r == -ENOENT) && exists &&
        wal_is_empty(path)) {
        db_close(store);
        r = reader_try(store, "mode=ro&immutable=1", error);
    }
    if (r < 0)
        return r;
    *ret = TAKE_PTR(store);
    return 0;
}
