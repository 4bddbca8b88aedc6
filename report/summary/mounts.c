/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sentences about what a job did on its mounts. */
#define _GNU_SOURCE /* asprintf */
#include "config.h"

#include "report/summary/summary.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/text_buffer.h"
#include "report/bursts.h"

/* Less is not worth a line. */
#define MAPPED_LEAST (UINT64_C(64) << 20)
#define MAPPED_PART 10

char *summary_mapped(const struct io_summary *s)
{
    uint64_t in = 0, out = 0, all;
    char read[UNITS_SIZE], written[UNITS_SIZE], *line;

    for (size_t i = 0; i < s->n; i++) {
        const struct io_account *io = &s->rows[i].mount->io;

        add_saturating(&in, io->ops[IO_MMAP_READ] ? io->ops[IO_MMAP_READ]->bytes : 0);
        add_saturating(&out, io->ops[IO_MMAP_WRITE] ? io->ops[IO_MMAP_WRITE]->bytes : 0);
    }
    all = in;
    add_saturating(&all, out);
    if (all < MAPPED_LEAST || all < s->total.sums.all.bytes / MAPPED_PART ||
        asprintf(&line, "mapped files, not in the table: %s read, %s written",
                 units_bytes(in, read), units_bytes(out, written)) < 0)
        return NULL;
    return line;
}

/* The text; NULL if it is empty. */
static char *take_sentence(struct text_buffer *text)
{
    char *sentence = text_buffer_take(text);

    if (!sentence || *sentence)
        return sentence;
    free(sentence);
    return NULL;
}

/* "write 5 ENOSPC, 2 EINTR" of one operation: its errors of that kind. */
static void write_errnos(FILE *out, const struct io_account *io, enum io_op op, bool answers,
                         const char **before)
{
    const struct io_counter *c = io->ops[op];
    const char *between = " ";

    for (size_t i = 0; c && i < c->n_errnos; i++) {
        char count[UNITS_SIZE], name[16];

        if (io_errno_is_answer(op, c->errnos[i].code) != answers)
            continue;
        if (*between == ' ')
            (void)fprintf(out, "%s%s", *before, io_op_name(op));
        *before = "; ";
        (void)fprintf(out, "%s%s %s", between, units_count(c->errnos[i].count, count),
                      io_errno_name(c->errnos[i].code, name));
        between = ", ";
    }
}

/* Whether data may be missing after a failed call. */
static bool is_writing(enum io_op op)
{
    return op == IO_WRITE || op == IO_COPY_WRITE || op == IO_MMAP_WRITE || op == IO_FSYNC ||
           op == IO_CLOSE;
}

static char *errors_of(const struct io_account *io, const char *title, bool answers)
{
    const char *before = title;
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    for (int writing = 1; writing >= 0; writing--)
        for (int op = 0; op < IO_OP_COUNT; op++)
            if (is_writing((enum io_op)op) == (bool)writing)
                write_errnos(text.out, io, (enum io_op)op, answers, &before);
    return take_sentence(&text);
}

/* "errors: write 5 ENOSPC, 2 EINTR; open 3 EACCES" */
char *summary_errors(const struct io_account *io)
{
    return errors_of(io, "errors: ", false);
}

/* "without a result: open 88.0 k ENOENT; lookup 17 EINVAL" */
char *summary_answers(const struct io_account *io)
{
    return errors_of(io, "without a result: ", true);
}

char *summary_async(const struct io_account *io)
{
    const char *between = "asynchronous, without waiting: ";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    for (int op = 0; op < IO_OP_COUNT; op++) {
        char some[UNITS_SIZE], all[UNITS_SIZE];

        if (!io->ops[op] || !io->ops[op]->async_requests)
            continue;
        (void)fprintf(text.out, "%s%s of %s %s calls", between,
                      units_count(io->ops[op]->async_requests, some),
                      units_count(io->ops[op]->requests, all), io_op_name(op));
        between = ", ";
    }
    return take_sentence(&text);
}

/* "sequential: 97 % of 2060 read calls (500 more of unknown order); 100 % of 12 write calls" */
char *summary_order(const struct io_account *io)
{
    const char *between = "sequential: ";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    for (int op = IO_READ; op <= IO_WRITE; op++) {
        const struct io_counter *c = io->ops[op];
        uint64_t known = c ? io_counter_ordered(c) : 0;
        char share[UNITS_SIZE], count[UNITS_SIZE];

        if (!known)
            continue;
        (void)fprintf(text.out, "%s%s of %s %s calls", between,
                      units_percent(c->sequential_requests, known, share),
                      units_count(known, count), io_op_name(op));
        if (c->requests > known)
            (void)fprintf(text.out, " (%s more of unknown order)",
                          units_count(c->requests - known, count));
        between = "; ";
    }
    return take_sentence(&text);
}

/* Less of the time of an operation is not worth a line. */
#define THROTTLED_PART 100

/* "held up until dirty pages were written: write 3.2 s of 4.0 s (80 %)" */
char *summary_throttled(const struct io_account *io)
{
    const char *between = "held up until dirty pages were written: ";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *c = io->ops[op];
        char part[UNITS_SIZE], all[UNITS_SIZE], share[UNITS_SIZE];

        if (!c || !c->throttled_ns || c->throttled_ns < c->time_ns / THROTTLED_PART)
            continue;
        (void)fprintf(text.out, "%s%s %s of %s (%s)", between, io_op_name(op),
                      units_time(c->throttled_ns, part), units_time(c->time_ns, all),
                      units_percent(c->throttled_ns, c->time_ns, share));
        between = ", ";
    }
    return take_sentence(&text);
}

/* How much was brought into the cache for reads, compared with what was read. The excess was not
 * used, unless files were mapped. */
static void write_amplification(FILE *out, const struct io_cache *cache, bool is_mapped)
{
    uint64_t used = cache->hit_bytes + cache->miss_bytes;
    uint64_t brought = cache->fill_bytes[IO_FILL_READ] + cache->fill_bytes[IO_FILL_PREFETCH];
    char buf[UNITS_SIZE];

    if (!used || brought < used + used / 10 || brought < cache->fill_bytes[IO_FILL_READ])
        return;
    (void)fprintf(out, ": %.1f times what was read", (double)brought / (double)used);
    if (!is_mapped)
        (void)fprintf(out, ", at least %s unused", units_bytes(brought - used, buf));
}

/* "written by at least 1,024 processes (2,048 threads)" */
static void write_users(FILE *out, const char *between, const char *verb, const struct io_users *u)
{
    char processes[UNITS_SIZE], threads[UNITS_SIZE];

    (void)fprintf(out, "%s%s by %s%s process%s", between, verb, u->at_least ? "at least " : "",
                  units_count(u->processes, processes), u->processes == 1 ? "" : "es");
    if (u->threads > u->processes)
        (void)fprintf(out, " (%s threads)", units_count(u->threads, threads));
}

/* One process with one thread is not worth a line. */
char *summary_users(const struct io_mount *m)
{
    static const char *const verbs[IO_USER_KINDS] = {"read", "written"};
    const char *between = "";
    struct text_buffer text;
    bool any = false;

    for (int kind = 0; kind < IO_USER_KINDS; kind++)
        any |= m->users[kind].processes > 1 || m->users[kind].threads > 1;
    if (!any || !text_buffer_open(&text))
        return NULL;
    for (int kind = 0; kind < IO_USER_KINDS; kind++) {
        if (!m->users[kind].processes)
            continue;
        write_users(text.out, between, verbs[kind], &m->users[kind]);
        between = ", ";
    }
    return take_sentence(&text);
}

char *summary_cache(const struct io_mount *m)
{
    const struct io_cache *cache = &m->cache;
    char hit[UNITS_SIZE], miss[UNITS_SIZE], share[UNITS_SIZE];
    uint64_t all = cache->hit_bytes + cache->miss_bytes;
    const char *between = "; filled by ";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    if (all)
        (void)fprintf(
            text.out, "page cache: %s served from it (%s), %s not",
            units_bytes(cache->hit_bytes, hit),
            units_percent(cache->hit_bytes, all < cache->hit_bytes ? UINT64_MAX : all, share),
            units_bytes(cache->miss_bytes, miss));
    else
        between = "page cache: filled by ";
    for (int i = 0; i < IO_FILL_COUNT; i++) {
        if (!cache->fill_bytes[i])
            continue;
        (void)fprintf(text.out, "%s%s %s", between, io_fill_name(i),
                      units_bytes(cache->fill_bytes[i], hit));
        between = ", ";
    }
    write_amplification(text.out, cache, m->io.ops[IO_MMAP_READ]);
    return take_sentence(&text);
}

/* "; the job waited 12.0 s in them (3 % of the run time)", "" if that is unknown, NULL on
 * out-of-memory. The wait of an incomplete account is a lower bound. */
static char *stall_text(const struct job_account *job, uint64_t stall_ns)
{
    const char *least = job_is_complete(job) ? "" : "at least ";
    char stall[UNITS_SIZE], share[UNITS_SIZE], *text;

    if (stall_ns == TIMELINE_UNKNOWN)
        return strdup("");
    if (asprintf(&text, "; the job waited %s%s in them (%s of the run time)", least,
                 units_time(stall_ns, stall), units_percent(stall_ns, job->elapsed_ns, share)) < 0)
        return NULL;
    return text;
}

char *summary_bursts(const struct io_summary *s, const struct io_mount *m)
{
    struct bursts bursts = bursts_of_mount(&s->job->mounts, m);
    char every[UNITS_SIZE], bytes[UNITS_SIZE], longest[UNITS_SIZE];
    _free_ char *stall = bursts.n ? stall_text(s->job, bursts.stall_ns) : NULL;
    char *line;

    if (!stall)
        return NULL;
    if (asprintf(&line, "%u bursts of writes, one every %s: %s each, in at most %s%s", bursts.n,
                 summary_time(bursts.every_s * NS_PER_S, every),
                 units_bytes(bursts.bytes / bursts.n, bytes),
                 summary_time(bursts.longest_s * NS_PER_S, longest), stall) < 0)
        return NULL;
    return line;
}
