/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table mpi, and the column step.mpi_incomplete. */
#include "collector/store/store_impl.h"

#include <stdlib.h>

static int counter_put(struct store *store, int64_t step, enum mpi_class class,
                       const struct mpi_counter *c, struct error *error)
{
    char sizes[IO_HISTOGRAM_TEXT], latencies[IO_HISTOGRAM_TEXT];

#define SUM_VALUE(member) U64(c->member),
    return store_run(store, SQL_MPI_PUT,
                     VALUES(U64((uint64_t)step), TEXT(mpi_class_name(class)),
                            MPI_SUMS(SUM_VALUE) TEXT(io_histogram_text(c->size_log2, sizes)),
                            TEXT(io_histogram_text(c->latency_log2, latencies))),
                     error);
#undef SUM_VALUE
}

int store_put_mpi(struct store *store, int64_t step, const struct mpi_account *account,
                  struct error *error)
{
    int r = 0;

    for (int i = 0; account && i < MPI_CLASS_COUNT && r == 0; i++)
        if (account->classes[i].calls)
            r = counter_put(store, step, i, &account->classes[i], error);
    return r;
}

/* A row of mpi_list. Ignores classes of a newer version. */
static int counter_read(sqlite3_stmt *row, struct mpi_account *account)
{
    int class = mpi_class_parse(column_text(row, 0)), column = 1, r;
    struct mpi_counter *c;

    if (class < 0)
        return 0;
    c = &account->classes[class];
#define READ_SUM(member) c->member = column_u64(row, column++);
    MPI_SUMS(READ_SUM)
#undef READ_SUM
    r = io_histogram_parse(column_text(row, column), c->size_log2);
    return r < 0 ? r : io_histogram_parse(column_text(row, column + 1), c->latency_log2);
}

static int counters_read(struct store *store, int64_t step, struct mpi_account *account,
                         struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    int r = store_start(store, SQL_MPI_LIST, VALUES(U64((uint64_t)step)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        r = counter_read(row, account);
        if (r < 0)
            return error_set(error, r, "store \"%s\": the MPI-IO of a step cannot be read",
                             store->path);
    }
    return r;
}

DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

int store_get_mpi(struct store *store, int64_t step, const char *incomplete,
                  struct mpi_account **ret, struct error *error)
{
    CLEANUP(mpi_account_destroyp) struct mpi_account *account = NULL;
    int r = mpi_incomplete_parse(incomplete, &account);

    if (r < 0)
        return error_errno(error, r, "store \"%s\": what is missing of MPI-IO", store->path);
    if (account)
        r = counters_read(store, step, account, error);
    if (r == 0)
        *ret = TAKE_PTR(account);
    return r;
}
