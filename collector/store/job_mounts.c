/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sums of a job on a mount: table job_mount. */
#include "collector/store/store_impl.h"

static int sums_run(struct store *store, enum sql_query query, int64_t job, int64_t mount,
                    const struct io_account *io, struct error *error)
{
    const struct io_sum reads = io_account_reads(io), writes = io_account_writes(io);
    const struct io_sum meta = io_account_meta(io), all = io_account_all(io);

    return store_run(store, query,
                     VALUES(U64((uint64_t)job), U64((uint64_t)mount), U64(reads.requests),
                            U64(reads.bytes), U64(reads.errors), U64(reads.time_ns),
                            U64(reads.max_ns), U64(writes.requests), U64(writes.bytes),
                            U64(writes.errors), U64(writes.time_ns), U64(writes.max_ns),
                            U64(meta.requests), U64(meta.errors), U64(meta.time_ns),
                            U64(meta.max_ns), U64(all.errors), U64(all.time_ns)),
                     error);
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

    if (op < 0) /* of a newer version, which summed it up by itself */
        return 0;
    if (!counter)
        return error_errno(error, -ENOMEM, "store \"%s\"", store->path);
    counter->requests = column_u64(row, 2);
    counter->bytes = column_u64(row, 3);
    counter->errors = column_u64(row, 4);
    counter->time_ns = column_u64(row, 5);
    counter->max_ns = column_u64(row, 6);
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
