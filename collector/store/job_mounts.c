/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Table job_mount: the sums of a job on a mount. */
#include "collector/store/store_impl.h"

void store_sum_values(const struct io_sums *sums, struct sql_value ret[IO_SUM_COLUMNS])
{
    for (size_t i = 0; i < IO_SUM_COLUMNS; i++)
        ret[i] = U64(io_column_of(&io_sum_columns[i], sums));
}

static int sums_run(struct store *store, enum sql_query query, int64_t job, int64_t mount,
                    const struct io_account *io, struct error *error)
{
    const struct io_sums sums = io_account_sums(io);
    struct sql_value values[2 + IO_SUM_COLUMNS] = {U64((uint64_t)job), U64((uint64_t)mount)};

    store_sum_values(&sums, values + 2);
    return store_run(store, query, values, ARRAY_SIZE(values), error);
}

int store_give_mount(struct store *store, int64_t job, int64_t mount, const struct io_account *io,
                     struct error *error)
{
    return sums_run(store, SQL_JOB_MOUNT_GIVE, job, mount, io, error);
}

static int count_take(struct store *store, sqlite3_stmt *row, struct io_account *io,
                      struct error *error)
{
    int op = io_op_parse(column_text(row, 1));
    struct io_counter *counter = op < 0 ? NULL : io_account_op(io, op);

    if (op < 0) /* stored by a newer version, which updates the sums itself */
        return 0;
    if (!counter)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    store_read_numbers(row, counter);
    return 0;
}

int store_take_mounts(struct store *store, const struct step_row *step, struct error *error)
{
    CLEANUP(store_resetp) sqlite3_stmt *row = NULL;
    struct io_account io CLEANUP(io_account_clear) = {0};
    int64_t mount = 0;
    int r = store_start(store, SQL_STEP_COUNTS, VALUES(U64((uint64_t)step->id)), &row, error);

    while (r >= 0 && (r = store_next(store, row, error)) > 0) {
        int64_t next = sqlite3_column_int64(row, 0);

        if (mount && next != mount) {
            r = sums_run(store, SQL_JOB_MOUNT_TAKE, step->job, mount, &io, error);
            io_account_clear(&io);
        }
        mount = next;
        if (r >= 0)
            r = count_take(store, row, &io, error);
    }
    return r == 0 && mount ? sums_run(store, SQL_JOB_MOUNT_TAKE, step->job, mount, &io, error) : r;
}
