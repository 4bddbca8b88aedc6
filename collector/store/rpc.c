/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table rpc: the requests of the NFS client. */
#include "collector/store/store_impl.h"

#include <stdlib.h>

static int classes_put(struct store *store, int64_t step, int64_t mount, bool shared,
                       const struct rpc_counter *classes, struct error *error)
{
    int r = 0;

    for (int i = 0; i < RPC_CLASS_COUNT && r == 0; i++) {
        const struct rpc_counter *c = &classes[i];

        if (rpc_counter_is_empty(c))
            continue;
#define SUM_VALUE(member) U64(c->member),
        r = store_run(store, SQL_RPC_PUT,
                      VALUES(U64((uint64_t)step), U64((uint64_t)mount), U64(shared),
                             TEXT(rpc_class_name(i)), RPC_SUMS(SUM_VALUE)),
                      error);
#undef SUM_VALUE
    }
    return r;
}

int store_put_rpc(struct store *store, int64_t step, int64_t mount,
                  const struct rpc_account *account, struct error *error)
{
    int r = account ? classes_put(store, step, mount, false, account->own, error) : 0;

    return account && r == 0 ? classes_put(store, step, mount, true, account->shared, error) : r;
}

/* A row of rpc_list. Classes of a newer version are added to the others. */
static void counter_read(sqlite3_stmt *row, struct rpc_account *account)
{
    int class = rpc_class_parse(column_text(row, 1)), column = 2;
    struct rpc_counter *to = sqlite3_column_int(row, 0) ? account->shared : account->own;
    struct rpc_counter c;

#define READ_SUM(member) c.member = column_u64(row, column++);
    RPC_SUMS(READ_SUM)
#undef READ_SUM
    rpc_counter_add(&to[class < 0 ? RPC_OTHER : class], &c);
}

int store_get_rpc(struct store *store, int64_t step, int64_t mount, struct rpc_account *to,
                  struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_RPC_LIST, VALUES(U64((uint64_t)step), U64((uint64_t)mount)),
                        &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0)
        counter_read(row, to);
    return r;
}
