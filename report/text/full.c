/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The full summary: who, the table, then each mount by operation, the steps, and what is missing.
 */
#include "config.h"

#include "report/text/text_impl.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text_buffer.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"
#include "report/summary/busiest.h"

#define FULL_STEPS 50
#define FULL_NODES 50
#define FULL_COMPLETENESS 12

/* Frees the sentence; writes nothing if it is NULL. */
static void write_sentence(FILE *out, const struct text *t, const char *indent, char *sentence)
{
    _free_ char *text = sentence, *line = NULL;

    if (text && asprintf(&line, "%s%s", indent, text) >= 0)
        layout_wrap(out, line, text_columns(t), 4, 8);
}

static void field(FILE *out, const char *name, const char *value, const char **between)
{
    _free_ char *clean = value ? utf8_sanitize(value) : NULL;

    if (!clean)
        return;
    fprintf(out, "%s%s %s", *between, name, clean);
    *between = ", ";
}

/* Who the job is; names are untrusted. malloc'd, NULL: out of memory. */
static char *who_line(const struct job_account *job)
{
    const char *between = "";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    field(text.out, "user", job->user, &between);
    field(text.out, "account", job->account, &between);
    field(text.out, "partition", job->partition, &between);
    field(text.out, "cluster", job->key.cluster, &between);
    if (job->key.restart)
        fprintf(text.out, "%srestart %u", between, job->key.restart);
    field(text.out, "name", job->name, &between);
    return text_buffer_take(&text);
}

static void write_who(FILE *out, const struct text *t)
{
    _free_ char *line = NULL;

    if (t->s.job->command) {
        fprintf(out, "exit status %d\n", t->s.job->exit_status);
        return;
    }
    line = who_line(t->s.job);
    if (line && *line)
        text_lines(out, t, TEXT_PLAIN, line, 4);
}

/* --- a mount by operation --------------------------------------------------------------------- */

static const struct table_column op_columns[] = {
    {"", 10, 0, true, 0},       {"calls", 7, 0, false, 0}, {"bytes", 9, 0, false, 0},
    {"~size", 8, 60, false, 0}, {"errs", 7, 0, false, 0},  {"time", 9, 60, false, 0},
    {"wait", 5, 0, false, 0},   {"p50", 7, 75, false, 0},  {"p99", 8, 80, false, 0},
    {"max", 8, 75, false, 0},
};

/* A percentile: the upper bound of a bucket. */
static const char *percentile_text(const struct io_counter *c, double q, char buf[UNITS_SIZE])
{
    uint64_t bound = io_quantile(c->latency_log2, q, io_latency_bound);

    return bound == UINT64_MAX ? ">137 s" /* 2^37 ns, where the last bucket begins */
                               : summary_time(bound, buf);
}

static void op_line(struct table *table, const struct text *t, enum io_op op,
                    const struct io_account *io)
{
    const struct io_counter *c = io->ops[op];
    uint64_t sizes[IO_BUCKETS] = {0};
    char buf[UNITS_SIZE];

    io_account_sizes(io, op, sizes);
    table_cell(table, io_op_name(op));
    table_count(table, c->requests);
    table_bytes(table, c->bytes);
    table_cell(table, units_bytes_bound(io_quantile(sizes, 0.5, io_size_bound), buf));
    table_count(table, io_counter_failed(op, c));
    table_cell(table, summary_time(c->time_ns, buf));
    table_cell(table, text_waiting_short(t, c->time_ns, buf));
    table_cell(table, percentile_text(c, 0.5, buf));
    table_cell(table, percentile_text(c, 0.99, buf));
    table_cell(table, summary_time(c->max_ns, buf));
    table_end(table);
}

static void write_ops(FILE *out, const struct text *t, const struct io_account *io)
{
    struct table table = table_make(out, op_columns, ARRAY_SIZE(op_columns), text_columns(t));

    table.indent = 2;
    table_titles(&table);
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (io->ops[op] && io->ops[op]->requests)
            op_line(&table, t, (enum io_op)op, io);
}

/* "/scratch (nfs4, srv:/scratch)" */
static void write_mount_title(FILE *out, const struct text *t, const struct io_mount *m)
{
    _free_ char *mount = utf8_sanitize(m->mount), *fstype = utf8_sanitize(m->fstype),
                *source = utf8_sanitize(m->source), *title = NULL;

    if (mount && fstype && source &&
        asprintf(&title, "%s (%s, %s)%s", mount, fstype, source,
                 m->private ? ", in the job's own namespace" : "") >= 0)
        write_sentence(out, t, "", TAKE_PTR(title));
}

static void write_mount(FILE *out, const struct text *t, const struct io_mount *m)
{
    fputc('\n', out);
    write_mount_title(out, t, m);
    write_ops(out, t, &m->io);
    write_sentence(out, t, "  ", summary_errors(&m->io));
    write_sentence(out, t, "  ", summary_answers(&m->io));
    write_sentence(out, t, "  ", summary_async(&m->io));
    write_sentence(out, t, "  ", summary_order(&m->io));
    write_sentence(out, t, "  ", summary_throttled(&m->io));
    write_sentence(out, t, "  ", summary_users(m));
    write_sentence(out, t, "  ", summary_rpc(m));
    write_sentence(out, t, "  ", summary_cache(m));
}

/* --- the busiest times ------------------------------------------------------------------------ */

#define TOP_TIMES 5

/* The first title is that of the table, too. */
static const struct table_column wide_top[] = {
    {"busiest times", 21, 0, true, 0}, {"for", 8, 0, false, 0},     {"  mount", 19, 0, true, 0},
    {"read/s", 9, 0, false, 0},        {"write/s", 9, 0, false, 0}, {"meta/s", 9, 0, false, 0},
    {"wait", 5, 0, false, 0}};
static const struct table_column narrow_top[] = {
    {"busiest at", 10, 0, true, 0}, {"for", 8, 0, false, 0},     {"  mount", 16, 0, true, 0},
    {"read/s", 0, 0, false, 0},     {"write/s", 0, 0, false, 0}, {"meta/s", 0, 0, false, 0},
    {"wait", 5, 0, false, 0}};

static void rate_cell(struct table *table, const struct busiest_time *top, enum timeline_kind kind)
{
    uint64_t rate = io_per_second(top->what.of[kind], top->length_s * NS_PER_S);

    if (top->what.of[kind] && !rate)
        table_cell(table, "<1");
    else if (kind == TIMELINE_META)
        table_count(table, rate);
    else
        table_bytes(table, rate);
}

static void threads_cell(struct table *table, double threads)
{
    char buf[UNITS_SIZE];

    if (threads > 0 && threads < 0.05)
        strcpy(buf, "<0.1");
    else if (threads < 999.95)
        (void)snprintf(buf, sizeof(buf), "%.1f", threads);
    else
        units_count_short((uint64_t)(threads + 0.5), buf);
    table_cell(table, buf);
}

/* "2026-11-21T10:04:00   16 s  /scratch   1.2 GiB  200 MiB  12.0 k   3.4" */
static void top_line(struct table *table, const struct busiest_time *top, bool narrow)
{
    double threads = (double)top->what.of[TIMELINE_WAIT] / (double)top->length_s / NS_PER_S;
    _free_ char *name = layout_fit(top->mount->mount, narrow ? 14 : 17), *indented = NULL;
    char start[32] = "  ?", buf[UNITS_SIZE];
    time_t seconds = (time_t)top->start_s;
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        (void)strftime(start, sizeof(start), narrow ? "  %T" : "  %FT%T", &tm);
    if (!name || asprintf(&indented, "  %s", name) < 0)
        indented = NULL;
    table_cell(table, start);
    table_cell(table, summary_time(top->length_s * NS_PER_S, buf));
    table_cell(table, indented ? indented : "  ?");
    for (int kind = 0; kind < TIMELINE_WAIT; kind++)
        rate_cell(table, top, kind);
    threads_cell(table, threads);
    table_end(table);
}

static void write_top(FILE *out, const struct text *t)
{
    bool narrow = text_is_narrow(t);
    struct table table =
        table_make(out, narrow ? narrow_top : wide_top, ARRAY_SIZE(wide_top), text_columns(t));
    struct busiest_time top[TOP_TIMES];
    size_t n = summary_busiest(&t->s.job->mounts, top, TOP_TIMES);

    if (!n || !busiest_stands_out(&top[0]))
        return;
    fputc('\n', out);
    table_titles(&table);
    for (size_t i = 0; i < n; i++)
        top_line(&table, &top[i], narrow);
    text_lines(out, t, TEXT_PLAIN,
               "(meta: metadata and sync calls; wait: threads that waited, on average)", 2);
}

static void write_unsupported(FILE *out, const struct text *t)
{
    _free_ char *ops = summary_ops(t->s.job->unsupported), *line = NULL;

    if (ops && *ops && asprintf(&line, "not counted on this node: %s", ops) >= 0)
        write_sentence(out, t, "", TAKE_PTR(line));
}

static void write_legend(FILE *out, const struct text *t)
{
    fputc('\n', out);
    text_lines(
        out, t, TEXT_PLAIN,
        "(calls: reads and writes, or the calls of an operation; meta: metadata calls; errs: "
        "failed calls, without look-ups that found nothing; wait: share of the run time; ~size: "
        "the median; sizes, p50 and p99 "
        "are upper bounds, in powers of two; max: a lower bound)",
        8);
}

void text_full(FILE *out, const struct text *t)
{
    text_title(out, t);
    write_who(out, t);
    text_errors(out, t, SIZE_MAX);
    text_verdict(out, t);
    text_table(out, t, SIZE_MAX);
    text_notes(out, t, SIZE_MAX);
    for (size_t i = 0; i < t->s.n; i++)
        write_mount(out, t, t->s.rows[i].mount);
    if (t->s.n)
        write_legend(out, t);
    write_top(out, t);
    if (job_has_mpi(t->s.job))
        text_mpi(out, t);
    text_block(out, t);
    text_nodes(out, t, 2, FULL_NODES);
    text_steps(out, t, FULL_STEPS);
    fputc('\n', out);
    write_unsupported(out, t);
    text_completeness(out, t, FULL_COMPLETENESS);
}
