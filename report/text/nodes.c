/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job by node, and by step on each node, as tables. */
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/layout.h"
#include "report/nodes.h"
#include "report/table.h"
#include "report/text/text.h"
#include "report/text/text_impl.h"

static struct table make(FILE *out, const struct text_job *t, const struct table_column *columns,
                         size_t n, bool brief)
{
    struct table table = table_make(out, columns, n, text_columns(t));

    table.indent = 2;
    table.brief = brief;
    fputc('\n', out);
    table_titles(&table);
    return table;
}

/* --- nodes -------------------------------------------------------------------------------------
 */

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
    table_bytes(table, n->reads.bytes);
    table_bytes(table, n->writes.bytes);
    table_count(table, n->meta.requests);
    table_count(table, n->all.errors);
    table_cell(table, text_time(n->all.time_ns, buf));
    table_end(table);
}

static void imbalance_line(FILE *out, const struct text_job *t, const struct node_sum *nodes,
                           size_t n, size_t total)
{
    static const char *const names[] = {"read", "write", "meta", "wait"};
    const char *between = "largest node over the mean: ";
    _free_ char *text = NULL;
    size_t size;
    FILE *line = open_memstream(&text, &size);

    if (!line)
        return;
    for (unsigned i = 0; i < NODE_MEASURES; i++) {
        double value = nodes_imbalance(nodes, n, total, i);

        if (value <= 0)
            continue;
        fprintf(line, "%s%s %.1fx", between, names[i], value);
        between = ", ";
    }
    if (fclose(line) == 0)
        layout_wrap(out, text, text_columns(t), 2, 4);
}

void text_nodes(FILE *out, const struct text_job *t, size_t least, size_t limit)
{
    bool narrow = text_is_narrow(t);
    _free_ struct node_sum *nodes = NULL;
    uint32_t reported = t->job->nodes_reported;
    struct table table;
    size_t n = 0;

    if (nodes_sum(t->job, &nodes, &n) < 0 || n < least)
        return;
    table = make(out, t, narrow ? narrow_nodes : wide_nodes, ARRAY_SIZE(wide_nodes), narrow);
    for (size_t i = 0; i < n && i < limit; i++)
        node_line(&table, &nodes[i]);
    if (n > limit)
        fprintf(out, "  %zu more nodes\n", n - limit);
    imbalance_line(out, t, nodes, n, n > reported ? n : reported);
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

static const struct table_column wide_steps[] = {
    {"step", 12, 0, true, 11}, {"node", 11, 0, true, 10}, {"elapsed", 13, 0, false, 0},
    {"read", 7, 0, false, 0},  {"write", 7, 0, false, 0}, {"meta", 5, 0, false, 0},
    {"errs", 5, 0, false, 0},  {"wait", 5, 0, false, 0}};
static const struct table_column narrow_steps[] = {
    {"step", 9, 0, true, 8},   {"node", 9, 0, true, 8},   {"elapsed", 13, 75, false, 0},
    {"read", 7, 0, false, 0},  {"write", 7, 0, false, 0}, {"meta", 5, 45, false, 0},
    {"errs", 5, 50, false, 0}, {"wait", 5, 0, false, 0}};

/* What is to be said of the step stands behind its line, or where that is too long below it. */
static void step_line(struct table *table, const struct text_job *of, const struct step_account *s)
{
    char name[32], remark[32], buf[UNITS_SIZE];
    struct job_account alone = {
        .mounts = s->mounts, .elapsed_ns = s->elapsed_ns, .longest_wait_ns = s->longest_wait_ns};
    struct text_job t;

    if (text_job_make(&alone, &t) < 0)
        return;
    table_cell(table, step_name(s, name));
    table_cell(table, s->node ? s->node : "?");
    table_cell(table, step_elapsed(s, buf));
    table_bytes(table, t.total.reads.bytes);
    table_bytes(table, t.total.writes.bytes);
    table_count(table, t.total.meta.requests);
    table_count(table, t.total.all.errors);
    table_cell(table, text_waiting_short(&t, t.total.all.time_ns, buf));
    if (*step_remark(s, remark))
        fprintf(table->out, "%s%s", text_is_narrow(of) ? "\n    " : "  ", remark);
    table_end(table);
    text_job_clear(&t);
}

/* Nodes that were asked have told their sums only. */
static void write_where_all_are(FILE *out, const struct text_job *t)
{
    char line[96];

    (void)snprintf(line, sizeof(line), "(of this node; 'jobio job %u --steps' has those of all)",
                   t->job->key.jobid);
    text_lines(out, t, TEXT_PLAIN, line, 2);
}

void text_steps(FILE *out, const struct text_job *t, size_t limit)
{
    const struct job_account *job = t->job;
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

/* --- alone -------------------------------------------------------------------------------------
 */

/* What `write` writes of the job, malloc'd; NULL: no memory. */
static char *table_text(const struct job_account *job, size_t columns,
                        void (*write)(FILE *out, const struct text_job *t))
{
    struct text_job t = {.job = job, .style = {.columns = columns}};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    write(out, &t);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static void all_nodes(FILE *out, const struct text_job *t)
{
    text_nodes(out, t, 0, SIZE_MAX);
}

static void all_steps(FILE *out, const struct text_job *t)
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
