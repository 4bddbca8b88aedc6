/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/own_cost.h"

#include "common/cleanup.h"
#include "common/job.h"
#include "common/numbers.h"

/* Of a counted read in the page cache. */
#define UNIT 100

/* What a backend costs, in this unit. */
struct weights {
    /* By operation. A call by path passes several functions with programs; `create` is part of an
     * open. */
    uint16_t ops[IO_OP_COUNT];
    uint16_t error; /* of a failed call, more than of one that did not fail */
    /* Of a page that is added to the page cache: counted (`cache`), or at most, by what is known of
     * requests. */
    uint16_t page, write_page, read_page;
    /* Of a call that is not counted. As many of them as of counted ones of these operations are
     * typical: reads and writes of pipes, sockets and devices, and calls that are not counted. */
    uint16_t other;
    uint64_t others;
    uint16_t unit; /* the counted read, percent of that of functions with fentry programs */
};

#define OP(op) (UINT64_C(1) << (op))

/* Measured on 6.1 with tests/bench/measure-calls, as are the following ones. Operations that are
 * not among its calls have the weight of a similar one. */
static const struct weights functions = {
    .ops = {[IO_READ] = 100,    [IO_WRITE] = 102,     [IO_COPY_READ] = 130,  [IO_COPY_WRITE] = 130,
            [IO_CLONE] = 150,   [IO_MMAP_READ] = 211, [IO_MMAP_WRITE] = 211, [IO_OPEN] = 141,
            [IO_CREATE] = 8,    [IO_STAT] = 181,      [IO_READDIR] = 91,     [IO_MKDIR] = 236,
            [IO_RMDIR] = 236,   [IO_UNLINK] = 205,    [IO_RENAME] = 272,     [IO_LINK] = 240,
            [IO_SYMLINK] = 240, [IO_MKNOD] = 240,     [IO_TRUNCATE] = 190,   [IO_FALLOCATE] = 100,
            [IO_FSYNC] = 211,   [IO_SETATTR] = 190,   [IO_GETXATTR] = 185,   [IO_SETXATTR] = 185,
            [IO_CLOSE] = 129,   [IO_LOCK] = 110,      [IO_LOOKUP] = 151},
    .error = 20,
    .page = 25,
    .other = 62,
    .others = OP(IO_READ) | OP(IO_WRITE),
    .unit = 100,
};

/* An exception, or a call of ftrace, at the entry and at the return of each function. */
static const struct weights kprobes = {
    .ops = {[IO_READ] = 100,    [IO_WRITE] = 100,    [IO_COPY_READ] = 140, [IO_COPY_WRITE] = 140,
            [IO_CLONE] = 140,   [IO_MMAP_READ] = 92, [IO_MMAP_WRITE] = 92, [IO_OPEN] = 171,
            [IO_CREATE] = 5,    [IO_STAT] = 161,     [IO_READDIR] = 85,    [IO_MKDIR] = 217,
            [IO_RMDIR] = 217,   [IO_UNLINK] = 220,   [IO_RENAME] = 300,    [IO_LINK] = 260,
            [IO_SYMLINK] = 225, [IO_MKNOD] = 225,    [IO_TRUNCATE] = 165,  [IO_FALLOCATE] = 110,
            [IO_FSYNC] = 146,   [IO_SETATTR] = 165,  [IO_GETXATTR] = 145,  [IO_SETXATTR] = 145,
            [IO_CLOSE] = 121,   [IO_LOCK] = 105,     [IO_LOOKUP] = 109},
    .write_page = 39,
    .read_page = 18,
    .other = 57,
    .others = OP(IO_READ) | OP(IO_WRITE),
    .unit = 304,
};

/* The programs run at the entry and the return of each system call, whatever it does. */
static const struct weights system_calls = {
    .ops = {[IO_READ] = 118,
            [IO_WRITE] = 118,
            [IO_COPY_READ] = 105,
            [IO_COPY_WRITE] = 105,
            [IO_OPEN] = 112,
            [IO_CREATE] = 25,
            [IO_STAT] = 128,
            [IO_READDIR] = 136,
            [IO_TRUNCATE] = 116,
            [IO_FALLOCATE] = 116,
            [IO_FSYNC] = 116,
            [IO_SETATTR] = 116,
            [IO_GETXATTR] = 116,
            [IO_SETXATTR] = 116,
            [IO_CLOSE] = 112,
            [IO_LOCK] = 116,
            [IO_LOOKUP] = 116},
    .write_page = 47,
    .read_page = 18,
    .other = 83,
    .others = UINT64_MAX,
    .unit = 174,
};

#define PAGE_BYTES 4096

/* Of requests of NFS, and of what is recorded or counted on request, in percent of a counted read
 * with fentry programs. `low` is without interrupts and the time of kernel threads. */
static const struct range {
    uint16_t low, high;
} span = {120, 300}, stack = {400, 1500}, block = {300, 500}, rpc = {500, 1200},
  /* Each has two exceptions. What they cost depends on the machine, and on the first instruction of
   * the function: see doc/performance.md. */
    mpi = {500, 14000};

/* How far, in percent, the machine and the calls may differ from those measured. */
#define MARGIN 20

/* What was counted can only be recognized by what was not. */
static const struct weights *weights_of(const struct job_account *job)
{
    const uint64_t by_path = OP(IO_MKDIR) | OP(IO_UNLINK) | OP(IO_RENAME);

    if (!(job->unsupported & IO_CACHE))
        return &functions;
    return (job->unsupported & by_path) == by_path ? &system_calls : &kprobes;
}

static void add_weighted(uint64_t *to, uint64_t count, uint64_t weight)
{
    add_saturating(to, count < UINT64_MAX / UINT16_MAX ? count * weight : UINT64_MAX);
}

struct sum {
    uint64_t low, high;
};

static void add_calls(struct sum *sum, const struct weights *weights, int op,
                      const struct io_counter *counter)
{
    uint64_t counted = 0;

    add_weighted(&counted, counter->requests, weights->ops[op]);
    add_weighted(&counted, counter->errors, weights->error);
    add_saturating(&sum->low, counted);
    add_saturating(&sum->high, counted);
    if (weights->others & OP(op))
        add_weighted(&sum->high, counter->requests, weights->other);
}

static uint64_t pages_of(const struct io_counter *counter)
{
    return counter ? counter->bytes / PAGE_BYTES : 0;
}

static void add_mount(struct sum *sum, const struct weights *weights, const struct io_mount *mount)
{
    struct io_counter *const *ops = mount->io.ops;
    uint64_t pages = 0;

    for (int op = 0; op < IO_OP_COUNT; op++)
        if (ops[op])
            add_calls(sum, weights, op, ops[op]);
    for (int fill = 0; fill < IO_FILL_COUNT; fill++)
        add_weighted(&pages, mount->cache.fill_bytes[fill] / PAGE_BYTES, weights->page);
    add_saturating(&sum->low, pages);
    add_saturating(&sum->high, pages);
    add_weighted(&sum->high, pages_of(ops[IO_WRITE]), weights->write_page);
    add_weighted(&sum->high, pages_of(ops[IO_READ]), weights->read_page);
}

static void add_range(struct sum *sum, uint64_t n, const struct range *range)
{
    add_weighted(&sum->low, n, range->low);
    add_weighted(&sum->high, n, range->high);
}

static uint64_t mpi_calls(const struct mpi_account *account)
{
    uint64_t n = 0;

    for (int class = 0; account && class < MPI_CLASS_COUNT; class ++)
        add_saturating(&n, account->classes[class].calls);
    return n;
}

static void add_blocks(struct sum *sum, const struct block_account *account)
{
    for (size_t i = 0; account && i < account->n; i++)
        for (int class = 0; class < BLOCK_CLASS_COUNT; class ++) {
            add_range(sum, account->items[i].own[class].requests, &block);
            add_weighted(&sum->high, account->items[i].shared[class].requests, block.high);
        }
}

static void add_requests(struct sum *sum, const struct rpc_account *account)
{
    for (int class = 0; account && class < RPC_CLASS_COUNT; class ++) {
        add_range(sum, account->own[class].calls, &rpc);
        add_weighted(&sum->high, account->shared[class].calls, rpc.high);
    }
}

/* In units of a counted read with fentry programs. */
static struct sum weigh_extras(const struct job_account *job)
{
    struct sum sum = {0};

    for (size_t i = 0; i < job->mounts.n; i++)
        add_requests(&sum, job->mounts.items[i].rpc);
    add_range(&sum, mpi_calls(job->mpi), &mpi);
    add_blocks(&sum, job->block);
    add_range(&sum, job->spans_taken, &span);
    add_range(&sum, job->stacks_taken, &stack);
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

/* From percent of a counted read with fentry programs to percent of the backend's. */
static uint64_t convert(uint64_t weight, unsigned unit)
{
    return weight < UINT64_MAX / UNIT ? weight * UNIT / unit : weight / unit * UNIT;
}

struct own_cost own_cost_of(const struct job_account *job)
{
    const struct weights *weights = weights_of(job);
    struct sum sum = {0}, extras = weigh_extras(job);

    for (size_t i = 0; i < job->mounts.n; i++)
        add_mount(&sum, weights, &job->mounts.items[i]);
    add_saturating(&sum.low, convert(extras.low, weights->unit));
    add_saturating(&sum.high, convert(extras.high, weights->unit));
    return (struct own_cost){.low_ns = scale(sum.low, job->ns_per_event, 100 - MARGIN),
                             .high_ns = scale(sum.high, job->ns_per_event, 100 + MARGIN)};
}
