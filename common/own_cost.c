/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/own_cost.h"

#include "common/cleanup.h"
#include "common/job.h"
#include "common/numbers.h"

/* Of a counted read in the page cache. */
#define UNIT 100

/* What a call costs in a job, by operation, measured with tests/bench/calls on 6.1. A call by path
 * passes several functions with programs; `create` is part of an open. */
static const uint16_t weights[IO_OP_COUNT] = {
    [IO_READ] = 100,    [IO_WRITE] = 107,     [IO_COPY_READ] = 130,  [IO_COPY_WRITE] = 130,
    [IO_CLONE] = 150,   [IO_MMAP_READ] = 315, [IO_MMAP_WRITE] = 315, [IO_OPEN] = 145,
    [IO_CREATE] = 20,   [IO_STAT] = 185,      [IO_READDIR] = 95,     [IO_MKDIR] = 236,
    [IO_RMDIR] = 236,   [IO_UNLINK] = 205,    [IO_RENAME] = 272,     [IO_LINK] = 240,
    [IO_SYMLINK] = 240, [IO_MKNOD] = 240,     [IO_TRUNCATE] = 190,   [IO_FALLOCATE] = 100,
    [IO_FSYNC] = 231,   [IO_SETATTR] = 190,   [IO_GETXATTR] = 185,   [IO_SETXATTR] = 185,
    [IO_CLOSE] = 155,   [IO_LOCK] = 110,      [IO_LOOKUP] = 151,
};

#define WEIGHT_ERROR 80 /* of a failed call, more than of one that did not fail */
#define WEIGHT_PAGE 27  /* of a page that is added to the page cache */
#define PAGE_BYTES 4096

/* Of a read or write that is not counted, on a pipe, a socket or a device. As many of them as of
 * counted ones are typical of programs that pass data on. */
#define WEIGHT_OTHER 62

/* How far, in percent, the machine and the calls may differ from those measured. */
#define MARGIN 20

static void add_weighted(uint64_t *to, uint64_t count, uint64_t weight)
{
    add_saturating(to, count < UINT64_MAX / UINT16_MAX ? count * weight : UINT64_MAX);
}

static uint64_t weigh(const struct io_mount *mount)
{
    uint64_t sum = 0;

    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *counter = mount->io.ops[op];

        if (!counter)
            continue;
        add_weighted(&sum, counter->requests, weights[op]);
        add_weighted(&sum, counter->errors, WEIGHT_ERROR);
    }
    for (int fill = 0; fill < IO_FILL_COUNT; fill++)
        add_weighted(&sum, mount->cache.fill_bytes[fill] / PAGE_BYTES, WEIGHT_PAGE);
    return sum;
}

static uint64_t weigh_other(const struct io_mount *mount)
{
    const struct io_counter *read = mount->io.ops[IO_READ], *write = mount->io.ops[IO_WRITE];
    uint64_t sum = 0;

    add_weighted(&sum, read ? read->requests : 0, WEIGHT_OTHER);
    add_weighted(&sum, write ? write->requests : 0, WEIGHT_OTHER);
    return sum;
}

static uint64_t scale(uint64_t weight, uint64_t ns, unsigned percent)
{
    uint64_t product;

    if (__builtin_mul_overflow(weight, ns, &product) ||
        __builtin_mul_overflow(product / UNIT, percent, &product))
        return UINT64_MAX;
    return product / 100;
}

struct own_cost own_cost_of(const struct job_account *job)
{
    uint64_t counted = 0, all;

    for (size_t i = 0; i < job->mounts.n; i++)
        add_saturating(&counted, weigh(&job->mounts.items[i]));
    all = counted;
    for (size_t i = 0; i < job->mounts.n; i++)
        add_saturating(&all, weigh_other(&job->mounts.items[i]));
    return (struct own_cost){.low_ns = scale(counted, job->ns_per_event, 100 - MARGIN),
                             .high_ns = scale(all, job->ns_per_event, 100 + MARGIN)};
}
