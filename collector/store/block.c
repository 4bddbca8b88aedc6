/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table block, and the columns step.block_incomplete and step.block_shared_at_most. */
#include "collector/store/store_impl.h"

#include <stdlib.h>

static int classes_put(struct store *store, int64_t step, const char *device, bool shared,
                       const struct block_counter *classes, struct error *error)
{
    int r = 0;

    for (int i = 0; i < BLOCK_CLASS_COUNT && r == 0; i++) {
        const struct block_counter *c = &classes[i];
        char latencies[IO_HISTOGRAM_TEXT];

        if (!c->requests)
            continue;
#define SUM_VALUE(member) U64(c->member),
        r = store_run(
            store, SQL_BLOCK_PUT,
            VALUES(U64((uint64_t)step), TEXT(device), U64(shared), TEXT(block_class_name(i)),
                   BLOCK_SUMS(SUM_VALUE) TEXT(io_histogram_text(c->latency_log2, latencies))),
            error);
#undef SUM_VALUE
    }
    return r;
}

int store_put_block(struct store *store, int64_t step, const struct block_account *account,
                    struct error *error)
{
    int r = 0;

    for (size_t i = 0; account && i < account->n && r == 0; i++) {
        const struct block_device *device = &account->items[i];

        r = classes_put(store, step, device->name, false, device->own, error);
        if (r == 0)
            r = classes_put(store, step, device->name, true, device->shared, error);
    }
    return r;
}

/* A row of block_list. Ignores classes of a newer version. */
static int counter_read(sqlite3_stmt *row, struct block_account *account)
{
    int class = block_class_parse(column_text(row, 2)), column = 3;
    struct block_device *device = block_account_get(account, column_text(row, 0));
    struct block_counter *c;

    if (!device)
        return -ENOMEM;
    if (class < 0)
        return 0;
    c = sqlite3_column_int(row, 1) ? &device->shared[class] : &device->own[class];
#define READ_SUM(member) c->member = column_u64(row, column++);
    BLOCK_SUMS(READ_SUM)
#undef READ_SUM
    return io_histogram_parse(column_text(row, column), c->latency_log2);
}

DEFINE_CLEANUP(struct block_account, block_account_destroy)

int store_get_block(struct store *store, int64_t step, bool incomplete, bool shared_at_most,
                    struct block_account **ret, struct error *error)
{
    CLEANUP(block_account_destroyp) struct block_account *account = calloc(1, sizeof(*account));
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r;

    if (!account)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    account->incomplete = incomplete;
    account->shared_at_most = shared_at_most;
    r = store_start(store, SQL_BLOCK_LIST, VALUES(U64((uint64_t)step)), &row, error);
    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        r = counter_read(row, account);
        if (r < 0)
            return error_errno(error, r, "store \"%s\": the block requests of a step", store->path);
    }
    if (r == 0)
        *ret = TAKE_PTR(account);
    return r;
}
