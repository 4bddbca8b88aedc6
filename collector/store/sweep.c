/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/store_impl.h"
#include "common/clock.h"

/* An ordinary step has at most about 20 mounts x 24 operations, so a transaction deletes less than
 * 1,000 rows; no step has more than 65 mounts. This takes a few milliseconds; then the next write
 * can run. */
#define SWEEP_ROWS 500
/* Return up to 200 free pages (800 KiB) at a time to the file system. Keep 64 for the next jobs. */
#define SWEEP_PAGES 200
#define SPARE_PAGES 64
/* A step that has just ended may be written again (jobiod was killed before it could drop the
 * counters). Without its row, the node's totals would count it twice. A full store takes that
 * risk. */
#define GRACE_NS NS_PER_HOUR
#define MOUNT_WINDOW 500
/* 64 MiB. SQLite truncates the WAL to 16 MiB when it restarts. */
#define WAL_PAGES (16 * 1024)

static int read_number(struct store *store, enum sql_query query, const struct sql_value *values,
                       size_t n, int64_t *ret, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, query, values, n, &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0)
        *ret = sqlite3_column_int64(row, 0);
    return r;
}

/* The job that ended first, if it ended before that time. 1: found. */
static int find_first_ended(struct store *store, enum sql_query query, uint64_t before, int64_t *id,
                            struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, query, VALUES(U64(before)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0) {
        *id = sqlite3_column_int64(row, 0);
        store->rollup.deleted_ns = column_u64(row, 1);
    }
    return r;
}

/* The store is too large. Users with small shares lose nothing while one with a large share has a
 * job that may be deleted, and, up to the hard limit, even if none of those jobs has ended. */
static int choose_by_size(struct store *store, uint64_t used, uint64_t grace, int64_t *id,
                          struct error *error)
{
    uint64_t deleted_ns;
    int r = find_first_ended(store, SQL_SWEEP_SHARE, grace, id, error);

    if (r || used <= store_full_bytes(store))
        return r;
    deleted_ns = store->rollup.deleted_ns;
    r = find_first_ended(store, SQL_SWEEP_SHARE, INT64_MAX, id, error);
    if (r == 0 && used > store_hard_limit(store))
        r = find_first_ended(store, SQL_SWEEP_OLDEST, INT64_MAX, id, error);
    store->deleted_early += r > 0 && store->rollup.deleted_ns >= grace;
    store->rollup.deleted_ns = deleted_ns; /* older blocks are still worth making */
    return r;
}

/* By size, a job may have rows queued for a sink, which are counted as given up; by age, it may
 * not.
 */
static int choose_job(struct store *store, uint64_t now_ns, int64_t *id, struct error *error)
{
    uint64_t before = store->keep_ns && now_ns > store->keep_ns ? now_ns - store->keep_ns : 0;
    uint64_t grace = now_ns > GRACE_NS ? now_ns - GRACE_NS : 0;
    uint64_t used;
    int r = find_first_ended(store, SQL_SWEEP_OLD, before, id, error);

    if (r || !store->keep_bytes)
        return r;
    r = store_used_bytes(store, &used, error);
    return r < 0 || used <= store->keep_bytes ? r : choose_by_size(store, used, grace, id, error);
}

/* Choose the next job to delete. 1: found. Hides the job first, so that no query sees a part of it,
 * even after a crash. */
static int next_job(struct store *store, uint64_t now_ns, int64_t *id, struct error *error)
{
    static const enum sql_query queries[] = {SQL_SWEEP_GIVEN_UP, SQL_SWEEP_OUTBOX,
                                             SQL_SWEEP_EXPIRE};
    int r = read_number(store, SQL_SWEEP_EXPIRED, NULL, 0, id, error);

    if (r)
        return r;
    r = choose_job(store, now_ns, id, error);
    if (r <= 0)
        return r;
    for (size_t i = 0; i < ARRAY_SIZE(queries) && r >= 0; i++)
        r = store_run(store, queries[i], VALUES(U64((uint64_t)*id)), error);
    return r < 0 ? r : 1;
}

/* Delete a step of the job. 1: deleted; 0: it has none. */
static int delete_step(struct store *store, int64_t job, struct error *error)
{
    int64_t step = 0;
    uint64_t bytes = 0;
    int r = read_number(store, SQL_SWEEP_NEXT, VALUES(U64((uint64_t)job)), &step, error);

    if (r <= 0)
        return r;
    r = store_step_bytes(store, step, &bytes, error);
    if (r == 0)
        r = store_run(store, SQL_SWEEP_STEP, VALUES(U64((uint64_t)step)), error);
    if (r == 0)
        r = store_change_share(store, job, 0, bytes, error);
    return r < 0 ? r : 1;
}

static int delete_job(struct store *store, int64_t job, struct error *error)
{
    int r = store_run(store, SQL_SHARE_TIDY, VALUES(U64((uint64_t)job)), error);

    return r < 0 ? r : store_run(store, SQL_SWEEP_JOB, VALUES(U64((uint64_t)job)), error);
}

/* 1: there may be more to delete. */
static int delete_some(struct store *store, uint64_t now_ns, struct error *error)
{
    int start = sqlite3_total_changes(store->db);
    int r = 1;

    while (r > 0 && sqlite3_total_changes(store->db) - start < SWEEP_ROWS) {
        int64_t id = 0;

        r = next_job(store, now_ns, &id, error);
        if (r <= 0)
            return r;
        r = delete_step(store, id, error);
        if (r == 0)
            r = delete_job(store, id, error);
        store->mounts_at = 0;
        r = r < 0 ? r : 1;
    }
    return r;
}

/* Delete unused mounts in one window of ids. 1: there may be more. */
static int delete_mounts(struct store *store, struct error *error)
{
    uint64_t end = store->mounts_at + MOUNT_WINDOW;
    int64_t last = 0;
    int r = read_number(store, SQL_SWEEP_MOUNT_MAX, NULL, 0, &last, error);

    if (r >= 0)
        r = store_run(store, SQL_SWEEP_MOUNTS, VALUES(U64(store->mounts_at), U64(end)), error);
    if (r < 0)
        return r;
    store->mounts_at = end >= (uint64_t)last ? UINT64_MAX : end;
    return store->mounts_at != UINT64_MAX;
}

/* 1: there are more free pages. The pragma frees one page per step of the statement; store_exec()
 * runs all of them. */
static int free_pages(struct store *store, struct error *error)
{
    char pragma[64];
    int64_t spare, left;
    int r = store_number(store, "PRAGMA freelist_count", &spare, error);

    if (r < 0 || spare <= SPARE_PAGES)
        return r;
    left = spare - SPARE_PAGES;
    (void)snprintf(pragma, sizeof(pragma), "PRAGMA incremental_vacuum(%d)",
                   left < SWEEP_PAGES ? (int)left : SWEEP_PAGES);
    r = store_exec(store, pragma, error);
    return r < 0 ? r : left > SWEEP_PAGES;
}

/* Delete rows first: only then are their mounts unused. */
static int sweep(struct store *store, uint64_t now_ns, struct error *error)
{
    uint64_t deleted_early = store->deleted_early;
    int r = store_begin(store, false, error);
    int committed;

    if (r < 0)
        return r;
    r = delete_some(store, now_ns, error);
    if (r == 0)
        r = store_sweep_baseline(store, now_ns, error);
    if (r == 0 && store->mounts_at != UINT64_MAX)
        r = delete_mounts(store, error);
    if (r == 0)
        r = store_roll_up(store, now_ns, error);
    if (r < 0) {
        store_rollback(store);
        store->mounts_at = 0;
        store->baseline_day = 0;
        store->deleted_early = deleted_early;
        return r;
    }
    committed = store_commit(store, error);
    if (committed < 0)
        store->deleted_early = deleted_early;
    return committed < 0 ? committed : r;
}

uint64_t store_deleted_early(const struct store *store)
{
    return store->deleted_early;
}

/* Overlapping readers prevent the WAL from being restarted, so it grows. Once it is long, wait for
 * its readers as for a lock; new readers do not prolong the wait. */
static int restart_wal(struct store *store, struct error *error)
{
    int pages = 0;
    int rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages, NULL);

    if (rc == SQLITE_OK && pages > WAL_PAGES)
        rc = sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY
               ? 0
               : store_error(store, error, rc, "checkpoint");
}

int store_sweep(struct store *store, uint64_t now_ns, bool *more, struct error *error)
{
    int r = sweep(store, now_ns, error);
    int pages = r < 0 ? r : free_pages(store, error);

    if (pages < 0)
        return pages;
    *more = r || pages;
    return *more ? 0 : restart_wal(store, error);
}
