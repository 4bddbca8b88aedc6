/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The full summary: who, the table, then each mount by operation, the steps, and what is missing.
 */
#include "config.h"

#include "report/text_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "report/layout.h"
#include "report/timeline_text.h"

#define FULL_STEPS 50
#define FULL_NODES 50
#define FULL_COMPLETENESS 12

/* A line that `write` makes, wrapped; nothing if it is empty. */
static void write_line(FILE *out, void (*write)(FILE *out, const void *what), const void *what,
                       size_t indent, size_t lines)
{
    _free_ char *text = NULL;
    size_t size = 0;
    FILE *line = open_memstream(&text, &size);

    if (!line)
        return;
    write(line, what);
    if (fclose(line) == 0 && size)
        layout_wrap(out, text, TEXT_COLUMNS, indent, lines);
}

static void field(FILE *out, const char *name, const char *value, const char **between)
{
    _free_ char *clean = value ? units_sanitize(value) : NULL;

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

static void write_who(FILE *out, const struct job_account *job)
{
    if (job->command)
        fprintf(out, "exit status %d\n", job->exit_status);
    else
        write_line(out, who_line, job, 2, 4);
}

/* --- a mount by operation ----------------------------------------------------------------------
 */

static void cell(FILE *out, const char *text, size_t width)
{
    layout_right(out, text, width);
}

/* The time of many threads may be long: "17 min", "27.8 h", "5.1M h". */
static void cell_time(FILE *out, uint64_t ns, size_t width)
{
    uint64_t minutes = ns / UINT64_C(60000000000);
    char buf[UNITS_SIZE];

    if (!ns)
        strcpy(buf, "-");
    else if (ns < UINT64_C(999500000000))
        units_time(ns, buf);
    else if (minutes < 100)
        snprintf(buf, sizeof(buf), "%u min", (unsigned)minutes);
    else if (minutes < 6000)
        snprintf(buf, sizeof(buf), "%.1f h", (double)minutes / 60);
    else
        strcat(units_count_short(minutes / 60, buf), " h");
    cell(out, buf, width);
}

/* A percentile: the upper bound of a bucket. */
static void cell_percentile(FILE *out, const struct io_counter *c, double q, size_t width)
{
    uint64_t bound = io_quantile(c->latency_log2, q, io_latency_bound);

    if (bound == UINT64_MAX)
        cell(out, ">137 s", width); /* 2^37 ns, where the last bucket begins */
    else
        cell_time(out, bound, width);
}

static void op_line(FILE *out, const struct text_job *t, enum io_op op, const struct io_counter *c)
{
    char buf[UNITS_SIZE];

    fputs("  ", out);
    layout_left(out, io_op_name(op), 10);
    cell(out, units_count(c->requests, buf), 8);
    cell(out, c->bytes ? units_bytes(c->bytes, buf) : "-", 9);
    cell(out, text_size(io_quantile(c->size_log2, 0.5, io_size_bound), buf), 5);
    cell(out, c->errors ? units_count(c->errors, buf) : "-", 8);
    cell_time(out, c->time_ns, 9);
    cell(out, text_waiting_short(t, c->time_ns, buf), 5);
    cell_percentile(out, c, 0.5, 8);
    cell_percentile(out, c, 0.99, 8);
    cell_time(out, c->max_ns, 8);
    fputc('\n', out);
}

static void op_header(FILE *out)
{
    static const struct {
        const char *name;
        size_t width;
    } names[] = {{"calls", 8}, {"bytes", 9}, {"size", 5}, {"errors", 8}, {"time", 9},
                 {"wait", 5},  {"p50", 8},   {"p99", 8},  {"max", 8}};

    layout_left(out, "", 12);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        cell(out, names[i].name, names[i].width);
    fputc('\n', out);
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

/* What was brought in for reads, and how often that is what was read. What exceeds it was of no use,
 * unless it was mapped. */
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
    _free_ char *mount = units_sanitize(m->mount), *fstype = units_sanitize(m->fstype),
                *source = units_sanitize(m->source);

    if (mount && fstype && source)
        fprintf(out, "%s (%s, %s)%s", mount, fstype, source,
                m->private ? ", in the job's own namespace" : "");
}

static void write_mount(FILE *out, const struct text_job *t, const struct io_mount *m)
{
    fputc('\n', out);
    write_line(out, mount_line, m, 4, 8);
    op_header(out);
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (m->io.ops[op] && m->io.ops[op]->requests)
            op_line(out, t, op, m->io.ops[op]);
    write_line(out, errors_line, &m->io, 4, 8);
    write_line(out, text_async_line, &m->io, 4, 8);
    write_line(out, text_order_line, &m->io, 4, 8);
    write_line(out, text_cache_line, m, 4, 8);
}

/* --- steps -------------------------------------------------------------------------------------
 */

static const char *step_remark(const struct step_account *s, char buf[32])
{
    if (s->folded)
        snprintf(buf, 32, "%u steps", s->folded);
    else if (s->completeness.lost || s->completeness.n)
        strcpy(buf, "incomplete");
    else
        strcpy(buf, s->state == STEP_ENDED ? "" : step_state_name(s->state));
    return buf;
}

/* "batch", "17", and for a component of a heterogeneous job "+1.batch". */
static const char *step_name(const struct step_account *s, char buf[32])
{
    char step[16];

    step_format(s->step, step);
    if (s->het == HET_NONE)
        strcpy(buf, step);
    else
        snprintf(buf, 32, "+%u.%s", s->het, step);
    return buf;
}

static const char *step_elapsed(const struct step_account *s, char buf[UNITS_SIZE])
{
    const uint64_t limit = UINT64_C(1000) * 86400 * 1000000000;

    return s->elapsed_ns < limit ? units_elapsed(s->elapsed_ns, buf) : "> 1000 days";
}

static void step_line(FILE *out, const struct step_account *s)
{
    char name[32], remark[32], buf[UNITS_SIZE];
    struct job_account alone = {
        .mounts = s->mounts, .elapsed_ns = s->elapsed_ns, .longest_wait_ns = s->longest_wait_ns};
    _free_ char *node = layout_fit(s->node ? s->node : "?", 11);
    _free_ char *step = layout_fit(step_name(s, name), 11);
    struct text_job t;

    if (!node || !step || text_job_make(&alone, &t) < 0)
        return;
    fputs("  ", out);
    layout_left(out, step, 12);
    layout_left(out, node, 11);
    cell(out, step_elapsed(s, buf), 13);
    cell(out, t.total.reads.bytes ? units_bytes_short(t.total.reads.bytes, buf) : "-", 6);
    cell(out, t.total.writes.bytes ? units_bytes_short(t.total.writes.bytes, buf) : "-", 6);
    cell(out, t.total.meta.requests ? units_count_short(t.total.meta.requests, buf) : "-", 5);
    cell(out, t.total.all.errors ? units_count_short(t.total.all.errors, buf) : "-", 7);
    cell(out, text_waiting_short(&t, t.total.all.time_ns, buf), 5);
    step_remark(s, remark);
    fprintf(out, "%s%s\n", *remark ? "  " : "", remark);
    text_job_clear(&t);
}

void text_steps(FILE *out, const struct job_account *job, size_t limit)
{
    if (!job->n_steps)
        return;
    fputs("\n  step        node             elapsed  read write meta errors wait\n", out);
    for (size_t i = 0; i < job->n_steps && i < limit; i++)
        step_line(out, &job->steps[i]);
    if (job->n_steps > limit)
        fprintf(out, "  %zu more steps\n", job->n_steps - limit);
}

/* --- the busiest times -------------------------------------------------------------------------
 */

#define TOP_TIMES 5
#define TOP_LEAST 10 /* bins of a time line; with less than that none stands out */

static void cell_rate(FILE *out, const struct timeline_top *top, enum timeline_kind kind)
{
    uint64_t rate = io_per_second(top->what.of[kind], top->length_s * UINT64_C(1000000000));
    char buf[UNITS_SIZE];

    if (!top->what.of[kind])
        strcpy(buf, "-");
    else if (!rate)
        strcpy(buf, "<1");
    else if (kind == TIMELINE_META)
        units_count_short(rate, buf);
    else
        units_bytes_short(rate, buf);
    cell(out, buf, 9);
}

/* "2026-11-21T10:04:00   16 s  /scratch   1.2G   200M   12k   3.4" */
static void top_line(FILE *out, const struct timeline_top *top)
{
    double threads = (double)top->what.of[TIMELINE_WAIT] / (double)top->length_s / 1e9;
    _free_ char *name = layout_fit(top->mount->mount, 17);
    char start[32] = "?", buf[UNITS_SIZE];
    time_t seconds = (time_t)top->start_s;
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        (void)strftime(start, sizeof(start), "%FT%T", &tm);
    fprintf(out, "  %s", start);
    cell_time(out, top->length_s * UINT64_C(1000000000), 8);
    fputs("  ", out);
    layout_left(out, name ? name : "?", 17);
    for (int kind = 0; kind < TIMELINE_WAIT; kind++)
        cell_rate(out, top, kind);
    (void)snprintf(buf, sizeof(buf), "%.1f", threads);
    cell(out, threads > 0 && threads < 0.05 ? "<0.1" : buf, 5);
    fputc('\n', out);
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

static void write_top(FILE *out, const struct job_account *job)
{
    struct timeline_top top[TOP_TIMES];
    size_t n = timeline_top(&job->mounts, top, TOP_TIMES);

    if (!n || !stands_out(&top[0]))
        return;
    fputs("\nbusiest times            for  mount               read/s  write/s   meta/s wait\n",
          out);
    for (size_t i = 0; i < n; i++)
        top_line(out, &top[i]);
    fputs("(wait: how many threads waited at a time)\n", out);
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

void text_full(FILE *out, const struct text_job *t)
{
    text_title(out, t);
    write_who(out, t->job);
    text_errors(out, t, SIZE_MAX);
    text_verdict(out, t);
    text_table(out, t, SIZE_MAX);
    text_notes(out, t, SIZE_MAX);
    for (size_t i = 0; i < t->n; i++)
        write_mount(out, t, t->rows[i].mount);
    if (t->n)
        fputs("\n(sizes, p50 and p99 are counted in powers of two: at most that)\n", out);
    write_top(out, t->job);
    text_nodes(out, t->job, 2, FULL_NODES);
    text_steps(out, t->job, FULL_STEPS);
    fputc('\n', out);
    write_line(out, unsupported_line, &t->job->unsupported, 4, 8);
    text_completeness(out, t, FULL_COMPLETENESS);
}
