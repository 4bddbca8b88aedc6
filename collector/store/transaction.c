/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions and savepoints. */
#include "collector/store/store_impl.h"

/* The statement is prepared: without memory SQLite could not parse it, and the transaction would
 * stay open. It is prepared anew if something has expired it, for which there may be no memory. */
static void roll_back(struct store *store)
{
    if (!sqlite3_get_autocommit(store->db)) {
        (void)sqlite3_step(store->rollback);
        (void)sqlite3_reset(store->rollback);
    }
    store->left_open = !sqlite3_get_autocommit(store->db);
}

/* Without it, what is written next would belong to the transaction that was given up. */
static int end_left_open(struct store *store, struct error *error)
{
    if (store->left_open)
        roll_back(store);
    return store->left_open
               ? error_set(error, -ENOMEM, "store \"%s\": no memory to end the last transaction",
                           store->path)
               : 0;
}

int store_begin(struct store *store, bool final, struct error *error)
{
    int r = end_left_open(store, error);

    if (r < 0)
        return r;
    /* SQLite changes the level only between transactions. */
    if (store->final != final)
        r = store_exec(store, final ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                       error);
    if (r < 0)
        return r;
    store->final = final;
    store->failed = 0;
    return store_exec(store, "BEGIN IMMEDIATE", error);
}

void store_rollback(struct store *store)
{
    store->failed = 0;
    roll_back(store);
}

int store_commit(struct store *store, struct error *error)
{
    int r = store->failed;

    if (r < 0)
        error_errno(error, r, "store \"%s\": the transaction was rolled back", store->path);
    else
        r = store_exec(store, "COMMIT", error);
    if (r < 0)
        store_rollback(store); /* a failed COMMIT may leave it open */
    return r;
}

int store_savepoint(struct store *store, struct error *error)
{
    if (store->failed)
        return error_errno(error, store->failed, "store \"%s\": the transaction was rolled back",
                           store->path);
    return store_exec(store, "SAVEPOINT part", error);
}

int store_release(struct store *store, struct error *error)
{
    return store_exec(store, "RELEASE part", error);
}

void store_undo(struct store *store)
{
    if (sqlite3_get_autocommit(store->db))
        return;
    if (sqlite3_exec(store->db, "ROLLBACK TO part; RELEASE part", NULL, NULL, NULL) == SQLITE_OK)
        return;
    roll_back(store); /* else a part of the write would be committed */
    store->failed = -ENOMEM;
}

/* Errors that end the transaction: SQLite may have rolled back more than the statement, or the next
 * statement would fail, too. */
static bool is_fatal(int r)
{
    return r == -ENOSPC || r == -EIO || r == -EMEDIUMTYPE || r == -ENOMEM || r == -EROFS;
}

int store_write(struct store *store, int (*write)(struct store *, const void *, struct error *),
                const void *arg, struct error *error)
{
    int r = end_left_open(store, error);
    bool alone;

    if (r < 0)
        return r;
    alone = sqlite3_get_autocommit(store->db) && !store->failed;
    r = alone ? store_begin(store, true, error) : 0;
    if (r == 0)
        r = store_savepoint(store, error);
    if (r < 0) {
        if (alone)
            store_rollback(store);
        return r;
    }
    r = write(store, arg, error);
    if (r == 0)
        r = store_release(store, error);
    if (r < 0)
        store_undo(store);
    if (r < 0 && is_fatal(r)) {
        store_rollback(store);
        store->failed = r;
    }
    if (!alone)
        return r;
    if (r == 0)
        return store_commit(store, error);
    store_rollback(store);
    return r;
}

int store_snapshot(struct store *store, bool *begun, struct error *error)
{
    int r = end_left_open(store, error);

    *begun = r == 0 && sqlite3_get_autocommit(store->db);
    if (r < 0)
        return r;
    return *begun ? store_exec(store, "BEGIN", error) : 0;
}

void store_snapshot_end(struct store *store, bool begun)
{
    if (begun)
        roll_back(store);
}
