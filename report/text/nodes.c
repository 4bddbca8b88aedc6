/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job by node, and by step on each node, as tables. */
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/text_buffer.h"
#include "report/layout.h"
#include "report/nodes.h"
#include "report/table.h"
#include "report/text/text.h"
#include "report/text/text_impl.h"

static struct table make(FILE *out, const struct text *t, const struct table_column *columns,
                         size_t n, bool brief)
{
    struct table table = table_make(out, columns, n, text_columns(t));

    table.indent = 2;
    table.brief = brief;
    fputc('\n', out);
    table_titles(&table);
    return table;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const struct table_column wide_nodes[] = {
    {"node", 24, 0, true, 23}, {"read", 9, 0, false, 0}, {"write", 9, 0, false, 0},
    {"meta", 8, 0, false, 0},  {"errs", 8, 0, false, 0}, {"wait", 10, 0, false, 0}};
static const struct table_column narrow_nodes[] = {
    {"node", 10, 0, true, 9}, {"read", 7, 0, false, 0},  {"write", 7, 0, false, 0},
    {"meta", 5, 0, false, 0}, {"errs", 5, 50, false, 0}, {"wait", 8, 0, false, 0}};

static void node_line(struct table *table, const struct node_sum *n)
{
    char buf[UNITS_SIZE];

    table_cell(table, n->node ? n->node : "?");
    table_bytes(table, n->sums.reads.bytes);
    table_bytes(table, n->sums.writes.bytes);
    table_count(table, n->shown.meta.requests);
    table_count(table, n->shown.all.errors);
    table_cell(table, summary_time(n->sums.all.time_ns, buf));
    table_end(table);
}

static void imbalance_line(FILE *out, const struct text *t, const struct node_sum *nodes, size_t n,
                           size_t total)
{
    static const char *const names[] = {"read", "write", "meta", "wait"};
    const char *between = "largest node over the mean: ";
    _free_ char *line = NULL;
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return;
    for (unsigned i = 0; i < NODE_MEASURES; i++) {
        double value = nodes_imbalance(nodes, n, total, i);

        if (value <= 0)
            continue;
        fprintf(text.out, "%s%s %.1fx", between, names[i], value);
        between = ", ";
    }
    line = text_buffer_take(&text);
    if (line)
        layout_wrap(out, line, text_columns(t), 2, 4);
}

void text_nodes(FILE *out, const struct text *t, size_t least, size_t limit)
{
    bool narrow = text_is_narrow(t);
    _free_ struct node_sum *nodes = NULL;
    uint32_t reported = t->s.job->nodes_reported;
    struct table table;
    size_t n = 0;

    if (nodes_sum(t->s.job, &nodes, &n) < 0 || n < least)
        return;
    table = make(out, t, narrow ? narrow_nodes : wide_nodes, ARRAY_SIZE(wide_nodes), narrow);
    for (size_t i = 0; i < n && i < limit; i++)
        node_line(&table, &nodes[i]);
    if (n > limit)
        fprintf(out, "  %zu more nodes\n", n - limit);
    imbalance_line(out, t, nodes, n, n > reported ? n : reported);
}

/* --- steps ------------------------------------------------------------------------------------ */

static const char *step_elapsed(const struct step_account *s, char buf[UNITS_SIZE])
{
    const uint64_t limit = 1000 * NS_PER_DAY;

    return s->elapsed_ns < limit ? units_elapsed(s->elapsed_ns, buf) : "> 1000 days";
}

static const struct table_column wide_steps[] = {
    {"step", 12, 0, true, 11}, {"node", 11, 0, true, 10}, {"elapsed", 13, 0, false, 0},
    {"read", 7, 0, false, 0},  {"write", 7, 0, false, 0}, {"meta", 5, 0, false, 0},
    {"errs", 5, 0, false, 0},  {"wait", 5, 0, false, 0}};
static const struct table_column narrow_steps[] = {
    {"step", 9, 0, true, 8},   {"node", 9, 0, true, 8},   {"elapsed", 13, 75, false, 0},
    {"read", 7, 0, false, 0},  {"write", 7, 0, false, 0}, {"meta", 5, 45, false, 0},
    {"errs", 5, 50, false, 0}, {"wait", 5, 0, false, 0}};

/* The remark follows on the same line, or on the next one of a narrow terminal. */
static void step_line(struct table *table, const struct text *of, const struct step_account *s)
{
    char name[SUMMARY_STEP], remark[SUMMARY_STEP], buf[UNITS_SIZE];
    struct job_account alone = {
        .mounts = s->mounts, .elapsed_ns = s->elapsed_ns, .longest_wait_ns = s->longest_wait_ns};
    struct text t = {.style = {NULL, false, 0}};

    if (summary_make(&alone, NULL, &t.s) < 0)
        return;
    table_cell(table, summary_step_name(s, name));
    table_cell(table, s->node ? s->node : "?");
    table_cell(table, step_elapsed(s, buf));
    table_bytes(table, t.s.total.sums.reads.bytes);
    table_bytes(table, t.s.total.sums.writes.bytes);
    table_count(table, t.s.total.shown.meta.requests);
    table_count(table, t.s.total.shown.all.errors);
    table_cell(table, text_waiting_short(&t, t.s.total.sums.all.time_ns, buf));
    if (*summary_step_remark(s, remark))
        fprintf(table->out, "%s%s", text_is_narrow(of) ? "\n    " : "  ", remark);
    table_end(table);
    summary_clear(&t.s);
}

/* The other nodes have reported only their sums. */
static void write_where_all_are(FILE *out, const struct text *t)
{
    char line[96];

    (void)snprintf(line, sizeof(line), "(this node only; 'jobio job %u --steps' shows all nodes)",
                   t->s.job->key.jobid);
    text_lines(out, t, TEXT_PLAIN, line, 2);
}

void text_steps(FILE *out, const struct text *t, size_t limit)
{
    const struct job_account *job = t->s.job;
    size_t more = job->more_steps;
    struct table table;

    if (!job->n_steps && !more)
        return;
    table =
        make(out, t, text_is_narrow(t) ? narrow_steps : wide_steps, ARRAY_SIZE(wide_steps), true);
    for (size_t i = 0; i < job->n_steps && i < limit; i++)
        step_line(&table, t, &job->steps[i]);
    more += job->n_steps > limit ? job->n_steps - limit : 0;
    if (more)
        fprintf(out, "  %zu more steps\n", more);
    if (job->n_nodes > 1)
        write_where_all_are(out, t);
}

/* --- the tables alone ------------------------------------------------------------------------- */

/* The output of `write`, malloc'd; NULL: out of memory. */
static char *table_text(const struct job_account *job, size_t columns,
                        void (*write)(FILE *out, const struct text *t))
{
    struct text t = {.s = {.job = job}, .style = {.columns = columns}};
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    write(text.out, &t);
    return text_buffer_take(&text);
}

static void all_nodes(FILE *out, const struct text *t)
{
    text_nodes(out, t, 0, SIZE_MAX);
}

static void all_steps(FILE *out, const struct text *t)
{
    text_steps(out, t, SIZE_MAX);
}

char *report_nodes_text(const struct job_account *job, size_t columns)
{
    return table_text(job, columns, all_nodes);
}

char *report_steps_text(const struct job_account *job, size_t columns)
{
    return table_text(job, columns, all_steps);
}
