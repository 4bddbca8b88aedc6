/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The full summary: who, the table, then each mount by operation, the steps, and what is missing.
 */
#include "config.h"

#include "report/text/text_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"
#include "report/text/timeline.h"

#define FULL_STEPS 50
#define FULL_NODES 50
#define FULL_COMPLETENESS 12

/* A line that `write` makes, wrapped; nothing if it is empty. */
static void write_line(FILE *out, const struct text_job *t,
                       void (*write)(FILE *out, const void *what), const void *what, size_t indent,
                       size_t lines)
{
    _free_ char *text = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);

    if (!line)
        return;
    write(line, what);
    if (fclose(line) == 0 && size)
        layout_wrap(out, text, text_columns(t), indent, lines);
}

static void field(FILE *out, const char *name, const char *value, const char **between)
{
    _free_ char *clean = value ? utf8_sanitize(value) : NULL;

    if (!clean)
        return;
    fprintf(out, "%s%s %s", *between, name, clean);
    *between = ", ";
}

/* Who the job is; names are untrusted. */
static void who_line(FILE *out, const void *what)
{
    const struct job_account *job = what;
    const char *between = "";

    field(out, "user", job->user, &between);
    field(out, "account", job->account, &between);
    field(out, "partition", job->partition, &between);
    field(out, "cluster", job->key.cluster, &between);
    if (job->key.restart)
        fprintf(out, "%srestart %u", between, job->key.restart);
    field(out, "name", job->name, &between);
}

static void write_who(FILE *out, const struct text_job *t)
{
    if (t->job->command)
        fprintf(out, "exit status %d\n", t->job->exit_status);
    else
        write_line(out, t, who_line, t->job, 2, 4);
}

/* --- a mount by operation ----------------------------------------------------------------------
 */

static const struct table_column op_columns[] = {
    {"", 10, 0, true, 0},       {"calls", 7, 0, false, 0}, {"bytes", 9, 0, false, 0},
    {"~size", 8, 60, false, 0}, {"errs", 7, 0, false, 0},  {"time", 9, 60, false, 0},
    {"wait", 5, 0, false, 0},   {"p50", 7, 75, false, 0},  {"p99", 8, 80, false, 0},
    {"max", 8, 75, false, 0},
};

const char *text_time(uint64_t ns, char buf[UNITS_SIZE])
{
    uint64_t minutes = ns / UINT64_C(60000000000);

    if (!ns)
        return "-";
    if (ns < UINT64_C(999500000000))
        return units_time(ns, buf);
    if (minutes < 100)
        snprintf(buf, UNITS_SIZE, "%u min", (unsigned)minutes);
    else if (minutes < 6000)
        snprintf(buf, UNITS_SIZE, "%.1f h", (double)minutes / 60);
    else
        strcat(units_count_short(minutes / 60, buf), " h");
    return buf;
}

/* A percentile: the upper bound of a bucket. */
static const char *percentile_text(const struct io_counter *c, double q, char buf[UNITS_SIZE])
{
    uint64_t bound = io_quantile(c->latency_log2, q, io_latency_bound);

    return bound == UINT64_MAX ? ">137 s" /* 2^37 ns, where the last bucket begins */
                               : text_time(bound, buf);
}

static void op_line(struct table *table, const struct text_job *t, enum io_op op,
                    const struct io_counter *c)
{
    char buf[UNITS_SIZE];

    table_cell(table, io_op_name(op));
    table_count(table, c->requests);
    table_bytes(table, c->bytes);
    table_cell(table, units_bytes_bound(io_quantile(c->size_log2, 0.5, io_size_bound), buf));
    table_count(table, c->errors);
    table_cell(table, text_time(c->time_ns, buf));
    table_cell(table, text_waiting_short(t, c->time_ns, buf));
    table_cell(table, percentile_text(c, 0.5, buf));
    table_cell(table, percentile_text(c, 0.99, buf));
    table_cell(table, text_time(c->max_ns, buf));
    table_end(table);
}

static void write_ops(FILE *out, const struct text_job *t, const struct io_account *io)
{
    struct table table = table_make(out, op_columns, ARRAY_SIZE(op_columns), text_columns(t));

    table.indent = 2;
    table_titles(&table);
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (io->ops[op] && io->ops[op]->requests)
            op_line(&table, t, op, io->ops[op]);
}

/* "errors: open 88.0 k ENOENT; write 5 ENOSPC, 2 EINTR" */
static void errors_line(FILE *out, const void *what)
{
    const struct io_account *io = what;
    const char *before_op = "  errors: ";

    for (int op = 0; op < IO_OP_COUNT; op++) {
        const struct io_counter *c = io->ops[op];
        const char *between = " ";

        if (!c || !c->n_errnos)
            continue;
        fprintf(out, "%s%s", before_op, io_op_name(op));
        before_op = "; ";
        for (size_t i = 0; i < c->n_errnos; i++) {
            char count[UNITS_SIZE], name[16];

            fprintf(out, "%s%s %s", between, units_count(c->errnos[i].count, count),
                    io_errno_name(c->errnos[i].code, name));
            between = ", ";
        }
    }
}

void text_async_line(FILE *out, const void *what)
{
    const struct io_account *io = what;
    const char *between = "  asynchronous, so no wait: ";

    for (int op = 0; op < IO_OP_COUNT; op++) {
        char some[UNITS_SIZE], all[UNITS_SIZE];

        if (!io->ops[op] || !io->ops[op]->async_requests)
            continue;
        fprintf(out, "%s%s of %s %s calls", between, units_count(io->ops[op]->async_requests, some),
                units_count(io->ops[op]->requests, all), io_op_name(op));
        between = ", ";
    }
}

/* "sequential: 97 % of 2060 read calls (500 more of unknown order); 100 % of 12 write calls" */
void text_order_line(FILE *out, const void *what)
{
    const struct io_account *io = what;
    const char *between = "  sequential: ";

    for (int op = IO_READ; op <= IO_WRITE; op++) {
        const struct io_counter *c = io->ops[op];
        uint64_t known = c ? io_counter_ordered(c) : 0;
        char share[UNITS_SIZE], count[UNITS_SIZE];

        if (!known)
            continue;
        fprintf(out, "%s%s of %s %s calls", between,
                units_percent(c->sequential_requests, known, share), units_count(known, count),
                io_op_name(op));
        if (c->requests > known)
            fprintf(out, " (%s more of unknown order)", units_count(c->requests - known, count));
        between = "; ";
    }
}

/* What was brought in for reads, and how often that is what was read. What exceeds it was of no
 * use, unless it was mapped. */
static void write_amplification(FILE *out, const struct io_cache *cache, bool is_mapped)
{
    uint64_t used = cache->hit_bytes + cache->miss_bytes;
    uint64_t brought = cache->fill_bytes[IO_FILL_READ] + cache->fill_bytes[IO_FILL_PREFETCH];
    char buf[UNITS_SIZE];

    if (!used || brought < used + used / 10 || brought < cache->fill_bytes[IO_FILL_READ])
        return;
    fprintf(out, ": %.1f times what was read", (double)brought / (double)used);
    if (!is_mapped)
        fprintf(out, ", at least %s in vain", units_bytes(brought - used, buf));
}

void text_cache_line(FILE *out, const void *what)
{
    const struct io_mount *m = what;
    const struct io_cache *cache = &m->cache;
    char hit[UNITS_SIZE], miss[UNITS_SIZE], share[UNITS_SIZE];
    uint64_t all = cache->hit_bytes + cache->miss_bytes;
    const char *between = "; filled by ";

    if (all)
        fprintf(out, "  page cache: %s served from it (%s), %s not",
                units_bytes(cache->hit_bytes, hit),
                units_percent(cache->hit_bytes, all < cache->hit_bytes ? UINT64_MAX : all, share),
                units_bytes(cache->miss_bytes, miss));
    else
        between = "  page cache: filled by ";
    for (int i = 0; i < IO_FILL_COUNT; i++) {
        if (!cache->fill_bytes[i])
            continue;
        fprintf(out, "%s%s %s", between, io_fill_name(i), units_bytes(cache->fill_bytes[i], hit));
        between = ", ";
    }
    write_amplification(out, cache, m->io.ops[IO_MMAP_READ]);
}

/* "/scratch (nfs4, srv:/scratch)" */
static void mount_line(FILE *out, const void *what)
{
    const struct io_mount *m = what;
    _free_ char *mount = utf8_sanitize(m->mount), *fstype = utf8_sanitize(m->fstype),
                *source = utf8_sanitize(m->source);

    if (mount && fstype && source)
        fprintf(out, "%s (%s, %s)%s", mount, fstype, source,
                m->private ? ", in the job's own namespace" : "");
}

static void write_mount(FILE *out, const struct text_job *t, const struct io_mount *m)
{
    fputc('\n', out);
    write_line(out, t, mount_line, m, 4, 8);
    write_ops(out, t, &m->io);
    write_line(out, t, errors_line, &m->io, 4, 8);
    write_line(out, t, text_async_line, &m->io, 4, 8);
    write_line(out, t, text_order_line, &m->io, 4, 8);
    write_line(out, t, text_cache_line, m, 4, 8);
}

/* --- the busiest times -------------------------------------------------------------------------
 */

#define TOP_TIMES 5
#define TOP_LEAST 10 /* bins of a time line; with less than that none stands out */

/* The first title is that of the table, too. */
static const struct table_column wide_top[] = {
    {"busiest times", 21, 0, true, 0}, {"for", 8, 0, false, 0},     {"  mount", 19, 0, true, 0},
    {"read/s", 9, 0, false, 0},        {"write/s", 9, 0, false, 0}, {"meta/s", 9, 0, false, 0},
    {"wait", 5, 0, false, 0}};
static const struct table_column narrow_top[] = {
    {"busiest at", 10, 0, true, 0}, {"for", 8, 0, false, 0},     {"  mount", 16, 0, true, 0},
    {"read/s", 0, 0, false, 0},     {"write/s", 0, 0, false, 0}, {"meta/s", 0, 0, false, 0},
    {"wait", 5, 0, false, 0}};

static void rate_cell(struct table *table, const struct timeline_top *top, enum timeline_kind kind)
{
    uint64_t rate = io_per_second(top->what.of[kind], top->length_s * UINT64_C(1000000000));

    if (top->what.of[kind] && !rate)
        table_cell(table, "<1");
    else if (kind == TIMELINE_META)
        table_count(table, rate);
    else
        table_bytes(table, rate);
}

/* "2026-11-21T10:04:00   16 s  /scratch   1.2 GiB  200 MiB  12.0 k   3.4" */
static void top_line(struct table *table, const struct timeline_top *top, bool narrow)
{
    double threads = (double)top->what.of[TIMELINE_WAIT] / (double)top->length_s / 1e9;
    _free_ char *name = layout_fit(top->mount->mount, narrow ? 14 : 17), *indented = NULL;
    char start[32] = "  ?", buf[UNITS_SIZE];
    time_t seconds = (time_t)top->start_s;
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        (void)strftime(start, sizeof(start), narrow ? "  %T" : "  %FT%T", &tm);
    if (!name || asprintf(&indented, "  %s", name) < 0)
        indented = NULL;
    table_cell(table, start);
    table_cell(table, text_time(top->length_s * UINT64_C(1000000000), buf));
    table_cell(table, indented ? indented : "  ?");
    for (int kind = 0; kind < TIMELINE_WAIT; kind++)
        rate_cell(table, top, kind);
    (void)snprintf(buf, sizeof(buf), "%.1f", threads);
    table_cell(table, threads > 0 && threads < 0.05 ? "<0.1" : buf);
    table_end(table);
}

/* At least twice as busy as its mount was all in all. */
static bool stands_out(const struct timeline_top *top)
{
    const struct timeline *t = &top->mount->timeline;
    struct timeline_bin sum = timeline_sum(t);
    double share = (double)top->length_s / ((double)t->n * (double)t->width_s);
    enum timeline_kind first = sum.of[TIMELINE_WAIT] ? TIMELINE_WAIT : TIMELINE_READ;

    for (enum timeline_kind kind = first; t->n >= TOP_LEAST && kind < TIMELINE_KINDS; kind++)
        if (sum.of[kind] && (double)top->what.of[kind] >= 2 * share * (double)sum.of[kind])
            return true;
    return false;
}

static void write_top(FILE *out, const struct text_job *t)
{
    bool narrow = text_is_narrow(t);
    struct table table =
        table_make(out, narrow ? narrow_top : wide_top, ARRAY_SIZE(wide_top), text_columns(t));
    struct timeline_top top[TOP_TIMES];
    size_t n = timeline_top(&t->job->mounts, top, TOP_TIMES);

    if (!n || !stands_out(&top[0]))
        return;
    fputc('\n', out);
    table_titles(&table);
    for (size_t i = 0; i < n; i++)
        top_line(&table, &top[i], narrow);
    text_lines(out, t, TEXT_PLAIN, "(wait: how many threads waited at a time)", 2);
}

static void unsupported_line(FILE *out, const void *what)
{
    uint64_t ops = *(const uint64_t *)what;
    const char *between = "not counted on this node: ";

    for (unsigned bit = 0; bit < IO_SET_BITS; bit++) {
        if (!(ops & UINT64_C(1) << bit))
            continue;
        fprintf(out, "%s%s", between, io_bit_name(bit));
        between = ", ";
    }
}

static void write_legend(FILE *out, const struct text_job *t)
{
    fputc('\n', out);
    text_lines(out, t, TEXT_PLAIN,
               "(calls: reads and writes, and here those of each operation; meta: metadata calls; "
               "errs: calls that failed; wait: share of the run time; ~size and size: the median; "
               "sizes, p50 and p99 are counted in powers of two: at most that; max: at least that)",
               8);
}

void text_full(FILE *out, const struct text_job *t)
{
    text_title(out, t);
    write_who(out, t);
    text_errors(out, t, SIZE_MAX);
    text_verdict(out, t);
    text_table(out, t, SIZE_MAX);
    text_notes(out, t, SIZE_MAX);
    for (size_t i = 0; i < t->n; i++)
        write_mount(out, t, t->rows[i].mount);
    if (t->n)
        write_legend(out, t);
    write_top(out, t);
    text_nodes(out, t, 2, FULL_NODES);
    text_steps(out, t, FULL_STEPS);
    fputc('\n', out);
    write_line(out, t, unsupported_line, &t->job->unsupported, 4, 8);
    text_completeness(out, t, FULL_COMPLETENESS);
}
