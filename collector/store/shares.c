/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much of the database each user has: state "share/UID", in bytes. They are estimates, changed
 * in the transaction of the rows that they count, and compared only with each other.
 */
#include "collector/store/store_impl.h"

#include <stdlib.h>

#define COUNTED_KEY "shares"
#define LEAST_EXTRA (1 << 20)

static int first_number(struct store *store, enum sql_query query, int64_t id, int64_t *ret,
                        struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, query, VALUES(U64((uint64_t)id)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0)
        *ret = sqlite3_column_int64(row, 0);
    return r;
}

int store_step_bytes(struct store *store, int64_t step, uint64_t *ret, struct error *error)
{
    int64_t bytes = 0;
    int r = first_number(store, SQL_STEP_BYTES, step, &bytes, error);

    *ret = (uint64_t)bytes;
    return r < 0 ? r : 0;
}

int store_change_share(struct store *store, int64_t job, uint64_t more, uint64_t less,
                       struct error *error)
{
    return store_run(store, SQL_SHARE_PUT, VALUES(U64((uint64_t)job), U64(more), U64(less)), error);
}

/* --- a store of an earlier version ------------------------------------------------------------ */

static int next_step(struct store *store, int64_t *step, int64_t *job, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_SHARE_NEXT, VALUES(U64((uint64_t)*step)), &row, error);

    if (r == 0)
        r = store_next(store, row, error);
    if (r > 0) {
        *step = sqlite3_column_int64(row, 0);
        *job = sqlite3_column_int64(row, 1);
    }
    return r;
}

static int count_all(struct store *store, struct error *error)
{
    int64_t step = 0, job = 0;
    uint64_t bytes;
    int r = store_drop_states(store, "share/", error);

    while (r >= 0 && (r = next_step(store, &step, &job, error)) > 0) {
        r = store_step_bytes(store, step, &bytes, error);
        if (r == 0)
            r = store_change_share(store, job, bytes, 0, error);
    }
    return r < 0 ? r : store_put_state(store, COUNTED_KEY, "counted", error);
}

int store_count_shares(struct store *store, struct error *error)
{
    _free_ char *counted = NULL;
    int r = store_get_state(store, COUNTED_KEY, &counted, error);

    if (r < 0 || counted)
        return r;
    r = store_begin(store, true, error);
    if (r == 0)
        r = count_all(store, error);
    if (r == 0)
        return store_commit(store, error);
    store_rollback(store);
    return r;
}

/* --- the limits ------------------------------------------------------------------------------- */

int store_used_bytes(struct store *store, uint64_t *ret, struct error *error)
{
    int64_t pages, spare, page_size;
    int r = store_number(store, "PRAGMA page_count", &pages, error);

    if (r == 0)
        r = store_number(store, "PRAGMA freelist_count", &spare, error);
    if (r == 0)
        r = store_number(store, "PRAGMA page_size", &page_size, error);
    if (r == 0)
        *ret = (uint64_t)((pages - spare) * page_size);
    return r;
}

static uint64_t extra_bytes(const struct store *store)
{
    uint64_t quarter = store->keep_bytes / 4;

    return quarter > LEAST_EXTRA ? quarter : LEAST_EXTRA;
}

uint64_t store_full_bytes(const struct store *store)
{
    return store->keep_bytes + extra_bytes(store);
}

uint64_t store_hard_limit(const struct store *store)
{
    return store->keep_bytes + 2 * extra_bytes(store);
}

int store_is_full(struct store *store, struct error *error)
{
    uint64_t used;
    int r = store->keep_bytes ? store_used_bytes(store, &used, error) : 0;

    return r < 0 || !store->keep_bytes ? r : used > store_full_bytes(store);
}

int store_has_large_share(struct store *store, int64_t job, struct error *error)
{
    int64_t one;

    return first_number(store, SQL_SHARE_LARGE, job, &one, error);
}
