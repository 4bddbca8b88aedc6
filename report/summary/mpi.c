/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/summary/mpi.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "common/utf8.h"
#include "report/mpi_writes.h"
#include "report/summary/summary.h"

/* --- what it cost the job --------------------------------------------------------------------- */

#define PLACES 3
#define BIT(class) (1u << (class))

/* What is the same to the owner of the job. */
static const struct {
    const char *words;
    unsigned classes;
} kinds[] = {
    {"collective writes",
     BIT(MPI_WRITE_ALL) | BIT(MPI_WRITE_ALL_SPLIT) | BIT(MPI_WRITE_ALL_NONBLOCKING)},
    {"collective reads",
     BIT(MPI_READ_ALL) | BIT(MPI_READ_ALL_SPLIT) | BIT(MPI_READ_ALL_NONBLOCKING)},
    {"independent writes", BIT(MPI_WRITE) | BIT(MPI_WRITE_NONBLOCKING)},
    {"independent reads", BIT(MPI_READ) | BIT(MPI_READ_NONBLOCKING)},
    {"opens", BIT(MPI_OPEN)},
    {"closes", BIT(MPI_CLOSE)},
    {"new views", BIT(MPI_SET_VIEW)},
    {"syncs", BIT(MPI_SYNC)},
    {"preallocations", BIT(MPI_PREALLOCATE)},
};

struct kind_sum {
    const char *words;
    struct mpi_counter sum; /* without histograms */
    bool may_be_less;       /* reads without a status are in its bytes */
};

static struct kind_sum sum_of(const struct mpi_account *account, size_t kind)
{
    struct kind_sum ret = {.words = kinds[kind].words};

    for (int class = 0; class < MPI_CLASS_COUNT; class ++) {
        const struct mpi_counter *c = &account->classes[class];

        if (!(kinds[kind].classes & BIT(class)))
            continue;
#define ADD_SUM(member) add_saturating(&ret.sum.member, c->member);
        MPI_SUMS(ADD_SUM)
#undef ADD_SUM
        ret.may_be_less |= c->requested_bytes && !mpi_class_is_write(class);
    }
    return ret;
}

/* Insert; keeps those that took longest, longest first. */
static void add_kind(struct kind_sum most[PLACES], struct kind_sum new)
{
    for (size_t i = 0; i < PLACES; i++)
        if (new.sum.calls && (!most[i].words || new.sum.time_ns > most[i].sum.time_ns)) {
            struct kind_sum old = most[i];

            most[i] = new;
            new = old;
        }
}

/* " (12.0 GiB)"; nothing if the bytes are not known from either side. */
static void write_bytes(FILE *out, const struct kind_sum *kind)
{
    uint64_t bytes = kind->sum.bytes;
    char buf[UNITS_SIZE];

    add_saturating(&bytes, kind->sum.requested_bytes);
    if (!bytes || (kind->may_be_less && kind->sum.unknown_calls))
        return;
    (void)fprintf(out, " (%s%s)",
                  kind->may_be_less         ? "at most "
                  : kind->sum.unknown_calls ? "at least "
                                            : "",
                  units_bytes(bytes, buf));
}

static void write_kinds(FILE *out, const struct mpi_account *account)
{
    struct kind_sum most[PLACES] = {{.words = NULL}};
    char calls[UNITS_SIZE], took[UNITS_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
        add_kind(most, sum_of(account, i));
    for (size_t i = 0; i < PLACES && most[i].words; i++) {
        (void)fprintf(out, "%s %s %s %s", i ? "," : ":", units_count(most[i].sum.calls, calls),
                      most[i].words, summary_time(most[i].sum.time_ns, took));
        write_bytes(out, &most[i]);
    }
}

char *summary_mpi(const struct job_account *job)
{
    bool complete = job_mpi_is_complete(job);
    struct text_buffer text;
    char took[UNITS_SIZE];

    if (!job_lost_mpi_time(job) || !text_buffer_open(&text))
        return NULL;
    (void)fprintf(text.out, "MPI-IO%s took %s%s in all processes",
                  complete ? "" : " (NOT complete)", complete ? "" : "at least ",
                  summary_time(mpi_account_time_ns(job->mpi), took));
    write_kinds(text.out, job->mpi);
    return text_buffer_take(&text);
}

/* --- what is missing -------------------------------------------------------------------------- */

/* What the causes of common/mpi.h mean: the words before and after the count. */
static const struct {
    const char *cause, *before, *words;
} causes[] = {
    {MPI_CAUSE_LATE, "", "processes may have called MPI-IO before it was counted"},
    {MPI_CAUSE_CALLS, "", "calls not counted: counters full"},
    {MPI_CAUSE_ENDS, "", "calls whose return was not seen"},
    {MPI_CAUSE_NODE, "not counted on ", "nodes of its steps"},
    {MPI_CAUSE_RESTART, "", "steps had already started when jobiod was started or restarted"},
    {MPI_CAUSE_VANISHED, "", "steps disappeared without reporting their end"},
    {MPI_CAUSE_EARLY, "", "steps may have called MPI-IO before it was counted"},
    {MPI_CAUSE_UNSEEN, "at least ", "programs not looked at"},
};

char *summary_mpi_cause(const struct incomplete *item)
{
    char count[UNITS_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        if (!strcmp(causes[i].cause, item->cause))
            return text_format("%s%s %s", causes[i].before, units_count(item->count, count),
                               causes[i].words);
    return utf8_sanitize(item->cause);
}

char *summary_mpi_requested(const struct mpi_account *account)
{
    uint64_t requested = 0;
    char buf[UNITS_SIZE];

    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        if (!mpi_class_is_write(i))
            add_saturating(&requested, account->classes[i].requested_bytes);
    return requested ? text_format("%s of the reads have no status: they are what the calls asked "
                                   "for",
                                   units_bytes(requested, buf))
                     : NULL;
}

char *summary_mpi_unknown(const struct mpi_account *account)
{
    uint64_t unknown = 0;
    char buf[UNITS_SIZE];

    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        add_saturating(&unknown, account->classes[i].unknown_calls);
    return unknown ? text_format("without the bytes of %s calls: neither their status nor their "
                                 "type says how many",
                                 units_count(unknown, buf))
                   : NULL;
}

/* --- who wrote -------------------------------------------------------------------------------- */

/* The mount with most written bytes, if nearly all of them were written by collective calls and it
 * is known by how many processes. */
static const struct io_mount *collective_mount(const struct job_account *job,
                                               const struct mpi_writes *writes)
{
    const struct io_mount *most = NULL;
    uint64_t bytes = 0;

    for (size_t i = 0; i < job->mounts.n; i++) {
        const struct io_mount *m = &job->mounts.items[i];

        if (io_account_writes(&m->io).bytes > bytes) {
            bytes = io_account_writes(&m->io).bytes;
            most = m;
        }
    }
    return most && io_account_writes(&most->io).requests && most->users[IO_WRITERS].processes &&
                   mpi_writes_share(writes, most) >= MPI_WRITES_SHARE
               ? most
               : NULL;
}

/* Much less than any buffer of MPI-IO. */
#define SMALL (64 << 10)

static bool writes_are_small(const struct io_account *io)
{
    uint64_t sizes[IO_BUCKETS] = {0};

    io_account_sizes(io, IO_WRITE, sizes);
    return io_quantile(sizes, 0.5, io_size_bound) <= SMALL;
}

/* If there are fewer requests than calls, some requests have the data of several calls. */
static const char *collective_verdict(const struct job_account *job,
                                      const struct mpi_writes *writes, const struct io_mount *m)
{
    uint64_t requests = io_account_writes(&m->io).requests;

    if (requests <= writes->calls / 2)
        return ": collective buffering combined them";
    if (requests >= writes->calls && writes_are_small(&m->io) &&
        m->users[IO_WRITERS].processes > job->nodes_reported)
        return ": collective buffering did not combine them";
    return "";
}

char *summary_mpi_writers(const struct job_account *job)
{
    char processes[UNITS_SIZE], count[UNITS_SIZE], size[UNITS_SIZE], calls[UNITS_SIZE],
        bytes[UNITS_SIZE];
    struct mpi_writes writes;
    const struct io_mount *m;
    const struct io_users *u;
    struct io_sum sum;
    _free_ char *name = NULL;

    if (!mpi_writes_of(job, MPI_WRITES_COLLECTIVE, &writes) ||
        !(m = collective_mount(job, &writes)))
        return NULL;
    u = &m->users[IO_WRITERS];
    sum = io_account_writes(&m->io);
    name = utf8_sanitize(m->mount);
    if (!name)
        return NULL;
    return text_format(
        "%s%s process%s made %s writes on %s, %s on average, for %s collective writes "
        "(%s)%s",
        u->at_least ? "at least " : "", units_count(u->processes, processes),
        u->processes == 1 ? "" : "es", units_count(sum.requests, count), name,
        units_bytes(sum.bytes / sum.requests, size), units_count(writes.calls, calls),
        units_bytes(writes.bytes, bytes), collective_verdict(job, &writes, m));
}
