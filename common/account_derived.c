/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of an account that are not counted by themselves. */
#include "common/account.h"

#include <errno.h>

#include "common/clock.h"
#include "common/numbers.h"

/* How often programs read at the end of a file. */
#define EMPTY_READS 2

uint64_t io_per_second(uint64_t amount, uint64_t elapsed_ns)
{
    unsigned __int128 rate;

    if (!elapsed_ns)
        return 0;
    rate = ((unsigned __int128)amount * NS_PER_S + elapsed_ns / 2) / elapsed_ns;
    return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

/* --- errors ----------------------------------------------------------------------------------- */

bool io_errno_is_not_found(enum io_op op, int code)
{
    return !io_op_is_data(op) && (code == ENOENT || (op == IO_GETXATTR && code == ENODATA));
}

bool io_errno_is_answer(enum io_op op, int code)
{
    return io_errno_is_not_found(op, code) || (op == IO_LOOKUP && code == EINVAL) ||
           (op == IO_LOCK && code == EAGAIN);
}

uint64_t io_counter_not_found(enum io_op op, const struct io_counter *counter)
{
    uint64_t n = 0;

    for (size_t i = 0; counter && i < counter->n_errnos; i++)
        if (io_errno_is_not_found(op, counter->errnos[i].code))
            add_saturating(&n, counter->errnos[i].count);
    return n;
}

uint64_t io_counter_failed(enum io_op op, const struct io_counter *counter)
{
    uint64_t answers = 0;

    for (size_t i = 0; counter && i < counter->n_errnos; i++)
        if (io_errno_is_answer(op, counter->errnos[i].code))
            add_saturating(&answers, counter->errnos[i].count);
    return counter && counter->errors > answers ? counter->errors - answers : 0;
}

uint64_t io_account_not_found(const struct io_account *account)
{
    uint64_t n = 0;

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (op != IO_CREATE)
            add_saturating(&n, io_counter_not_found((enum io_op)op, account->ops[op]));
    return n;
}

/* Replace the errors of a sum of these operations by those that are failures. */
static void show_errors(const struct io_account *account, uint64_t ops, struct io_sum *sum)
{
    sum->errors = 0;
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (op != IO_CREATE && ops & UINT64_C(1) << op)
            add_saturating(&sum->errors, io_counter_failed((enum io_op)op, account->ops[op]));
}

struct io_sums io_account_shown(const struct io_account *account)
{
    struct io_account meta = *account;
    struct io_sums sums = io_account_sums(account);

    meta.ops[IO_FSYNC] = NULL;
    sums.meta = io_account_meta(&meta);
    show_errors(&meta, IO_METADATA, &sums.meta);
    show_errors(account, UINT64_MAX, &sums.all);
    return sums;
}

/* --- sizes ------------------------------------------------------------------------------------ */

/* Reads in bucket 0 that must have been empty: the bytes do not allow for more reads of one byte.
 */
static uint64_t empty_at_least(const struct io_counter *reads)
{
    uint64_t least = 0;

    for (unsigned i = 1; i < IO_BUCKETS; i++) {
        uint64_t n = reads->size_log2[i], smallest = (UINT64_C(1) << (i - 1)) + 1;

        add_saturating(&least, n > UINT64_MAX / smallest ? UINT64_MAX : n * smallest);
    }
    if (reads->bytes <= least)
        return reads->size_log2[0];
    return reads->size_log2[0] > reads->bytes - least ? reads->size_log2[0] - (reads->bytes - least)
                                                      : 0;
}

static uint64_t empty_reads(const struct io_account *account)
{
    const struct io_counter *reads = account->ops[IO_READ], *opens = account->ops[IO_OPEN];
    uint64_t opened =
        opens && opens->requests > opens->errors ? opens->requests - opens->errors : 0;
    uint64_t all = reads->size_log2[0];

    return max_u64(empty_at_least(reads), all / EMPTY_READS < opened ? all : opened * EMPTY_READS);
}

void io_account_sizes(const struct io_account *account, enum io_op op, uint64_t to[IO_BUCKETS])
{
    uint64_t sizes[IO_BUCKETS];

    if (!account->ops[op])
        return;
    for (unsigned i = 0; i < IO_BUCKETS; i++)
        sizes[i] = account->ops[op]->size_log2[i];
    if (op == IO_READ)
        sizes[0] -= empty_reads(account);
    io_histogram_add(to, sizes);
}
