/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/advice/fields.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "report/advice/nodes.h"
#include "report/mpi_writes.h"

/* Errors that have a field: those for which advice is possible. */
static const struct {
    const char *name;
    int code;
} known_errors[] = {
    {"enoent", ENOENT}, {"enospc", ENOSPC}, {"edquot", EDQUOT},
    {"eio", EIO},       {"estale", ESTALE}, {"eacces", EACCES},
};

/* Requests of up to 64 KiB are small. */
#define SMALL_BUCKET 16

/* Input for the fields of one operation, or of several added up. */
struct part {
    struct io_sum sum;
    uint64_t enoent, enospc, edquot, einval;
    uint64_t sizes[IO_BUCKETS], latencies[IO_BUCKETS];
};

static struct advice_field *new_field(struct advice_fields *fields)
{
    size_t room = fields->room ? fields->room * 2 : 256;
    struct advice_field *grown;

    if (fields->n == fields->room) {
        grown = reallocarray(fields->items, room, sizeof(*grown));
        if (!grown)
            return NULL;
        fields->items = grown;
        fields->room = room;
    }
    fields->items[fields->n] = (struct advice_field){.text = NULL};
    return &fields->items[fields->n++];
}

static int put_text(struct advice_fields *fields, const char *name, const char *text)
{
    struct advice_field *field = new_field(fields);

    if (!field)
        return -ENOMEM;
    (void)snprintf(field->name, sizeof(field->name), "%s", name);
    field->text = text ? text : "";
    return 0;
}

static int put(struct advice_fields *fields, const char *of, const char *name, double number)
{
    struct advice_field *field = new_field(fields);

    if (!field)
        return -ENOMEM;
    (void)snprintf(field->name, sizeof(field->name), "%s%s%s", of, *of ? "_" : "", name);
    field->number = number;
    return 0;
}

static void part_add(struct part *to, const struct io_account *io, enum io_op op)
{
    const struct io_counter *from = io->ops[op];

    if (!from)
        return;
    io_sum_add(&to->sum, io_counter_sum(from));
    for (size_t i = 0; i < from->n_errnos; i++) {
        to->enoent += from->errnos[i].code == ENOENT ? from->errnos[i].count : 0;
        to->enospc += from->errnos[i].code == ENOSPC ? from->errnos[i].count : 0;
        to->edquot += from->errnos[i].code == EDQUOT ? from->errnos[i].count : 0;
        to->einval += from->errnos[i].code == EINVAL ? from->errnos[i].count : 0;
    }
    io_account_sizes(io, op, to->sizes);
    io_histogram_add(to->latencies, from->latency_log2);
}

/* The share of the run time that was lost to waiting: that of the thread that waited longest, split
 * in the proportion of the waiting of all threads. */
static double lost(const struct job_account *job, uint64_t all_ns, uint64_t time_ns)
{
    if (!job->elapsed_ns || !all_ns)
        return 0;
    return (double)job_wait_ns(job) / (double)job->elapsed_ns * (double)time_ns / (double)all_ns;
}

static double small_share(const struct part *part)
{
    uint64_t small = 0, all = 0;

    for (unsigned i = 0; i < IO_BUCKETS; i++) {
        all += part->sizes[i];
        small += i <= SMALL_BUCKET ? part->sizes[i] : 0;
    }
    return all ? (double)small / (double)all : 0;
}

static double random_share(const struct part *part)
{
    const double random = (double)part->sum.random_requests;
    const double ordered = (double)part->sum.sequential_requests + random;

    return ordered > 0 ? random / ordered : 0;
}

/* The last bucket is open: its upper bound is taken as twice that of the previous one. */
static double median(const uint64_t buckets[IO_BUCKETS], uint64_t (*bound)(unsigned))
{
    uint64_t value = io_quantile(buckets, 0.5, bound);

    return value == UINT64_MAX ? 2.0 * (double)bound(IO_BUCKETS - 2) : (double)value;
}

/* The fields from the table of fields (common/account.h). */
static int put_sum(struct advice_fields *fields, const char *of, const struct io_sum *sum)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const struct io_field *field = &io_fields[i];
        const double unit = field->unit == IO_UNIT_NS ? NS_PER_S : 1;

        if (field->advice &&
            put(fields, of, field->advice, (double)io_sum_of(field, sum) / unit) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int put_part(struct advice_fields *fields, const char *of, const struct job_account *job,
                    uint64_t all_ns, const struct part *part)
{
    const struct {
        const char *name;
        double number;
    } numbers[] = {
        {"enoent", (double)part->enoent},
        {"enospc", (double)part->enospc},
        {"edquot", (double)part->edquot},
        {"einval", (double)part->einval},
        {"lost", lost(job, all_ns, part->sum.time_ns)},
        {"small", small_share(part)},
        {"random", random_share(part)},
        {"median_bytes", median(part->sizes, io_size_bound)},
        {"median_s", median(part->latencies, io_latency_bound) / NS_PER_S},
    };

    if (put_sum(fields, of, &part->sum) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        if (put(fields, of, numbers[i].name, numbers[i].number) < 0)
            return -ENOMEM;
    return 0;
}

/* --- the account, of one mount or of all ------------------------------------------------------ */

/* One mount, or all of them. */
struct scope {
    const struct io_mount *mounts;
    size_t n;
};

static uint64_t errors_of(const struct scope *scope, int code)
{
    uint64_t n = 0;

    for (size_t i = 0; i < scope->n; i++)
        for (unsigned op = 0; op < IO_OP_COUNT; op++) {
            const struct io_counter *c = scope->mounts[i].io.ops[op];

            for (size_t e = 0; c && op != IO_CREATE && e < c->n_errnos; e++)
                n += c->errnos[e].code == code ? c->errnos[e].count : 0;
        }
    return n;
}

static struct part part_of(const struct scope *scope, uint64_t ops)
{
    struct part part = {0};

    for (size_t i = 0; i < scope->n; i++)
        for (unsigned op = 0; op < IO_OP_COUNT; op++)
            if (ops & UINT64_C(1) << op)
                part_add(&part, &scope->mounts[i].io, (enum io_op)op);
    return part;
}

#define BIT(op) (UINT64_C(1) << (op))
#define DATA (BIT(IO_OP_FIRST_META) - 1)

/* Without create, which is part of open. */
#define NOT_DATA (~DATA & ~BIT(IO_CREATE) & (BIT(IO_OP_COUNT) - 1))
/* And without fsync, which writes data. */
#define META (IO_METADATA & ~BIT(IO_CREATE) & ~BIT(IO_FSYNC))
#define READS (BIT(IO_READ) | BIT(IO_COPY_READ))
#define WRITES (BIT(IO_WRITE) | BIT(IO_COPY_WRITE))

static int put_parts(struct advice_fields *fields, const struct job_account *job,
                     const struct scope *scope, uint64_t all_ns)
{
    const struct {
        const char *name;
        uint64_t ops;
    } sums[] = {{"read", READS}, {"write", WRITES}, {"meta", META}, {"all", DATA | NOT_DATA}};

    for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
        struct part part = part_of(scope, sums[i].ops);

        if (put_part(fields, sums[i].name, job, all_ns, &part) < 0)
            return -ENOMEM;
    }
    for (unsigned op = IO_MMAP_READ; op < IO_OP_COUNT; op++) {
        struct part part = part_of(scope, BIT(op));

        if (put_part(fields, io_op_name((enum io_op)op), job, all_ns, &part) < 0)
            return -ENOMEM;
    }
    for (size_t i = 0; i < ARRAY_SIZE(known_errors); i++)
        if (put(fields, "errors", known_errors[i].name,
                (double)errors_of(scope, known_errors[i].code)) < 0)
            return -ENOMEM;
    return 0;
}

static int put_cache(struct advice_fields *fields, const struct scope *scope)
{
    struct io_cache cache = {0};

    for (size_t i = 0; i < scope->n; i++)
        io_cache_add(&cache, &scope->mounts[i].cache);
    return put(fields, "cache", "hit_bytes", (double)cache.hit_bytes) < 0 ||
                   put(fields, "cache", "miss_bytes", (double)cache.miss_bytes) < 0 ||
                   put(fields, "cache", "prefetch_bytes",
                       (double)cache.fill_bytes[IO_FILL_PREFETCH]) < 0 ||
                   put(fields, "cache", "fill_bytes",
                       (double)cache.fill_bytes[IO_FILL_READ] +
                           (double)cache.fill_bytes[IO_FILL_PREFETCH]) < 0
               ? -ENOMEM
               : 0;
}

/* Opens that found a file, and reads at the end of a file (io_account_sizes). */
static int put_found(struct advice_fields *fields, const struct scope *scope)
{
    double found = 0, empty = 0;

    for (size_t i = 0; i < scope->n; i++) {
        const struct io_account *io = &scope->mounts[i].io;
        struct io_sum opens = io_counter_sum(io->ops[IO_OPEN]);
        uint64_t sizes[IO_BUCKETS] = {0};

        found += (double)opens.requests - (double)opens.errors;
        io_account_sizes(io, IO_READ, sizes);
        if (io->ops[IO_READ])
            empty += (double)io->ops[IO_READ]->size_log2[0] - (double)sizes[0];
    }
    return put(fields, "open", "found", found) < 0 || put(fields, "read", "empty", empty) < 0
               ? -ENOMEM
               : 0;
}

static double peak_of(const struct scope *scope, enum io_op op, enum io_op copy)
{
    const struct io_peak *peaks = scope->n == 1 ? scope->mounts->peaks : NULL;

    if (!peaks)
        return 0; /* the busiest intervals of two mounts may differ */
    return (double)(peaks[op].bytes_per_s > peaks[copy].bytes_per_s ? peaks[op].bytes_per_s
                                                                    : peaks[copy].bytes_per_s);
}

static int put_baseline(struct advice_fields *fields, const struct io_mount *mount)
{
    const struct mount_baseline none = {0}, *baseline = mount ? &mount->baseline : &none;
    const struct {
        const char *of;
        const struct latency_baseline *baseline;
    } kinds[] = {{"read", &baseline->read}, {"write", &baseline->write}, {"open", &baseline->open}};
    int r = 0;

    for (size_t i = 0; i < ARRAY_SIZE(kinds) && r == 0; i++) {
        r = put(fields, kinds[i].of, "normal_jobs", (double)kinds[i].baseline->jobs);
        if (r == 0)
            r = put(fields, kinds[i].of, "normal_s", (double)kinds[i].baseline->q50_ns / NS_PER_S);
        if (r == 0)
            r = put(fields, kinds[i].of, "normal_q99_s",
                    (double)kinds[i].baseline->q99_ns / NS_PER_S);
    }
    return r;
}

static int put_mount(struct advice_fields *fields, const struct job_account *job,
                     const struct scope *scope, const struct io_mount *mount)
{
    struct advice_slowest slowest = {"", 0};

    if (mount && advice_slowest_node(job, mount, &slowest) < 0)
        return -ENOMEM;
    return put_text(fields, "node_slowest", slowest.node) < 0 ||
                   put(fields, "node", "slow", slowest.factor) < 0 ||
                   put(fields, "read", "peak", peak_of(scope, IO_READ, IO_COPY_READ)) < 0 ||
                   put(fields, "write", "peak", peak_of(scope, IO_WRITE, IO_COPY_WRITE)) < 0
               ? -ENOMEM
               : 0;
}

/* Of one mount: a process may use several. */
static int put_users(struct advice_fields *fields, const struct io_mount *mount)
{
    static const char *const names[IO_USER_KINDS][3] = {
        {"readers", "reader_threads", "readers_at_least"},
        {"writers", "writer_threads", "writers_at_least"}};
    int r = 0;

    for (int kind = 0; kind < IO_USER_KINDS && r == 0; kind++) {
        const struct io_users u = mount ? mount->users[kind] : (struct io_users){0};
        const uint64_t numbers[] = {u.processes, u.threads, u.at_least};

        for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++)
            r = put(fields, "", names[kind][i], (double)numbers[i]);
    }
    return r;
}

static int put_mpi_writes(struct advice_fields *fields, const struct job_account *job,
                          const struct io_mount *mount)
{
    static const char *const names[] = {
        [MPI_WRITES_COLLECTIVE] = "collective", [MPI_WRITES_INDEPENDENT] = "independent"};

    for (enum mpi_writes_kind kind = 0; kind < MPI_WRITES_KINDS; kind++) {
        struct mpi_writes writes = {0};
        bool known = mpi_writes_of(job, kind, &writes);
        double share = known && mount ? mpi_writes_share(&writes, mount) : 0;

        if (put(fields, names[kind], "calls", (double)writes.calls) < 0 ||
            put(fields, names[kind], "bytes", (double)writes.bytes) < 0 ||
            put(fields, names[kind], "threads", writes.threads) < 0 ||
            put(fields, names[kind], "share", share) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int put_job(struct advice_fields *fields, const struct job_account *job)
{
    double even = 0, writer = 0, wait = (double)job_wait_ns(job);
    double elapsed = (double)job->elapsed_ns;

    if (advice_evenness(job, &even) < 0 || advice_writer(job, &writer) < 0)
        return -ENOMEM;
    return put(fields, "", "elapsed_s", elapsed / NS_PER_S) < 0 ||
                   put(fields, "", "waiting", elapsed > 0 ? wait / elapsed : 0) < 0 ||
                   put(fields, "", "nodes", job->nodes_reported) < 0 ||
                   put(fields, "", "nodes_even", even) < 0 ||
                   put(fields, "", "nodes_writer", writer) < 0 ||
                   put(fields, "", "complete", job_is_complete(job)) < 0
               ? -ENOMEM
               : 0;
}

/* A file system of this node only: nobody else uses it, and no other one is nearer. */
static bool is_local(const char *fstype)
{
    static const char *const types[] = {"btrfs",   "ext2",     "ext3",  "ext4", "f2fs", "hugetlbfs",
                                        "overlay", "squashfs", "tmpfs", "vfat", "xfs",  "zfs"};

    for (size_t i = 0; i < ARRAY_SIZE(types); i++)
        if (!strcmp(types[i], fstype))
            return true;
    return false;
}

int advice_fields_of(const struct job_account *job, const struct io_mount *mount,
                     struct advice_fields *ret)
{
    const struct scope all = {job->mounts.items, job->mounts.n};
    const struct scope scope = mount ? (struct scope){mount, 1} : all;
    struct part sum = part_of(&all, DATA | NOT_DATA), own = part_of(&scope, DATA | NOT_DATA);
    struct advice_fields fields = {0};

    if (put_text(&fields, "mount", mount ? mount->mount : "") < 0 ||
        put(&fields, "", "local", mount && is_local(mount->fstype)) < 0 ||
        put_text(&fields, "fstype", mount ? mount->fstype : "") < 0 || put_job(&fields, job) < 0 ||
        put(&fields, "", "lost", lost(job, sum.sum.time_ns, own.sum.time_ns)) < 0 ||
        put_parts(&fields, job, &scope, sum.sum.time_ns) < 0 || put_cache(&fields, &scope) < 0 ||
        put_found(&fields, &scope) < 0 || put_mount(&fields, job, &scope, mount) < 0 ||
        put_users(&fields, mount) < 0 || put_mpi_writes(&fields, job, mount) < 0 ||
        put_baseline(&fields, mount) < 0) {
        advice_fields_clear(&fields);
        return -ENOMEM;
    }
    *ret = fields;
    return 0;
}

void advice_fields_clear(struct advice_fields *fields)
{
    free(fields->items);
    *fields = (struct advice_fields){0};
}
