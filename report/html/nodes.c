/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job by node, and by step on each node. */
#include "config.h"

#include "report/html/html_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/nodes.h"

/* A value with a bar for its share of the largest. */
static void cell(FILE *out, const char *text, uint64_t value, uint64_t largest)
{
    if (!value)
        (void)fputs("<td>–</td>", out);
    else if (!largest)
        (void)fprintf(out, "<td>%s</td>", text);
    else
        (void)fprintf(out, "<td class=\"bar\" style=\"--part:%.0f%%\">%s</td>",
                      100.0 * (double)value / (double)largest, text);
}

static void sum_cells(FILE *out, const struct io_sums *s, const struct io_sums *largest)
{
    char buf[UNITS_SIZE];

    cell(out, units_bytes(s->reads.bytes, buf), s->reads.bytes, largest->reads.bytes);
    cell(out, units_bytes(s->writes.bytes, buf), s->writes.bytes, largest->writes.bytes);
    cell(out, units_count(s->meta.requests, buf), s->meta.requests, largest->meta.requests);
    cell(out, units_count(s->all.errors, buf), s->all.errors, largest->all.errors);
    cell(out, html_time(s->all.time_ns, buf), s->all.time_ns, largest->all.time_ns);
}

#define SUM_HEAD                                                               \
    "<th scope=\"col\">read</th><th scope=\"col\">written</th>"                \
    "<th scope=\"col\">metadata calls</th><th scope=\"col\">failed calls</th>" \
    "<th scope=\"col\">time in calls</th></tr>\n</thead>\n<tbody>\n"

/* --- nodes ------------------------------------------------------------------------------------ */

static void raise(uint64_t *to, uint64_t value)
{
    if (value > *to)
        *to = value;
}

static struct io_sums largest_of(const struct node_sum *nodes, size_t n)
{
    struct io_sums largest = {0};

    for (size_t i = 0; i < n; i++) {
        raise(&largest.reads.bytes, nodes[i].shown.reads.bytes);
        raise(&largest.writes.bytes, nodes[i].shown.writes.bytes);
        raise(&largest.meta.requests, nodes[i].shown.meta.requests);
        raise(&largest.all.errors, nodes[i].shown.all.errors);
        raise(&largest.all.time_ns, nodes[i].shown.all.time_ns);
    }
    return largest;
}

static int by_time(const void *pa, const void *pb)
{
    const struct node_sum *a = pa, *b = pb;

    if (a->sums.all.time_ns != b->sums.all.time_ns)
        return a->sums.all.time_ns < b->sums.all.time_ns ? 1 : -1;
    return strcmp(a->node, b->node);
}

static void imbalance(const struct html *h, const struct node_sum *nodes, size_t n)
{
    static const char *const names[] = {"read", "written", "metadata calls", "time in calls"};
    size_t total = n > h->job->nodes_reported ? n : h->job->nodes_reported;
    const char *between = "<p>The largest node over the mean: ";

    for (unsigned i = 0; i < NODE_MEASURES; i++) {
        double value = nodes_imbalance(nodes, n, total, i);

        if (value <= 0)
            continue;
        (void)fprintf(h->out, "%s%s %.2f", between, names[i], value);
        between = ", ";
    }
    if (*between == ',')
        (void)fputs(" (1 is even).</p>\n", h->out);
}

static void node_line(FILE *out, const struct node_sum *node, const struct io_sums *largest)
{
    (void)fputs("<tr><th scope=\"row\">", out);
    html_text(out, node->node);
    (void)fputs("</th>", out);
    sum_cells(out, &node->shown, largest);
    (void)fputs("</tr>\n", out);
}

static void rest_line(FILE *out, const struct node_sum *nodes, size_t n)
{
    struct io_sums rest = {0}, none = {0};

    for (size_t i = 0; i < n; i++) {
        io_sums_add(&rest, &nodes[i].shown);
    }
    (void)fprintf(out, "<tr class=\"sum\"><th scope=\"row\">%zu more nodes</th>", n);
    sum_cells(out, &rest, &none);
    (void)fputs("</tr>\n", out);
}

void html_nodes(const struct html *h)
{
    _free_ struct node_sum *nodes = NULL;
    struct io_sums largest;
    size_t n = 0, shown;

    if (nodes_sum(h->job, &nodes, &n) < 0 || n < 2)
        return;
    html_section(h->out, "nodes", "By node");
    imbalance(h, nodes, n);
    shown = n > HTML_NODES ? HTML_NODES : n;
    if (n > HTML_NODES)
        qsort(nodes, n, sizeof(*nodes), by_time);
    largest = largest_of(nodes, n);
    html_table(h->out, "nodes", "What the job did on each node");
    (void)fputs("<thead>\n<tr><th scope=\"col\">Node</th>" SUM_HEAD, h->out);
    for (size_t i = 0; i < shown; i++)
        node_line(h->out, &nodes[i], &largest);
    if (n > shown)
        rest_line(h->out, nodes + shown, n - shown);
    html_table_end(h->out);
    if (n > shown)
        (void)fprintf(
            h->out,
            "<p class=\"small\">The %zu of %zu nodes with most time in calls; jobio job %u "
            "--nodes lists all.</p>\n",
            shown, n, h->job->key.jobid);
    html_section_end(h->out);
}

/* --- steps ------------------------------------------------------------------------------------ */

struct step_sum {
    const struct step_account *step;
    size_t place;
    struct io_sums sum;
};

static struct io_sums sum_of(const struct io_mounts *mounts)
{
    struct io_sums sum = {0};

    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_sums more = io_account_shown(&mounts->items[i].io);

        io_sums_add(&sum, &more);
    }
    return sum;
}

static int steps_by_time(const void *pa, const void *pb)
{
    const struct step_sum *a = pa, *b = pb;

    if (a->sum.all.time_ns != b->sum.all.time_ns)
        return a->sum.all.time_ns < b->sum.all.time_ns ? 1 : -1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int steps_by_place(const void *pa, const void *pb)
{
    const struct step_sum *a = pa, *b = pb;

    return a->place < b->place ? -1 : a->place > b->place;
}

static void step_line(FILE *out, const struct step_account *s, const struct io_sums *sum)
{
    const struct io_sums none = {0};
    char name[SUMMARY_STEP], buf[UNITS_SIZE];

    (void)fprintf(out, "<tr><th scope=\"row\">%s</th><td class=\"text\">",
                  summary_step_name(s, name));
    html_text(out, s->node);
    (void)fprintf(out, "</td><td>%s</td>", units_elapsed(s->elapsed_ns, buf));
    sum_cells(out, sum, &none);
    cell(out, html_time(s->longest_wait_ns, buf), s->longest_wait_ns, 0);
    (void)fprintf(out, "<td class=\"text\">%s</td></tr>\n", summary_step_remark(s, name));
}

static struct step_sum *steps_of(const struct job_account *job)
{
    struct step_sum *steps = calloc(job->n_steps + 1, sizeof(*steps));

    for (size_t i = 0; steps && i < job->n_steps; i++) {
        steps[i].step = &job->steps[i];
        steps[i].place = i;
        steps[i].sum = sum_of(&job->steps[i].mounts);
    }
    return steps;
}

void html_steps(const struct html *h)
{
    _free_ struct step_sum *steps = steps_of(h->job);
    size_t n = h->job->n_steps, shown = n > HTML_STEPS ? HTML_STEPS : n;

    if (!steps || !n)
        return;
    if (n > shown) {
        qsort(steps, n, sizeof(*steps), steps_by_time);
        qsort(steps, shown, sizeof(*steps), steps_by_place);
    }
    html_section(h->out, "steps", "By step");
    html_table(h->out, "steps", "What each step did on each node");
    (void)fputs("<thead>\n<tr><th scope=\"col\">Step</th><th class=\"text\" scope=\"col\">node</th>"
                "<th scope=\"col\">run time</th><th scope=\"col\">read</th>"
                "<th scope=\"col\">written</th><th scope=\"col\">metadata calls</th>"
                "<th scope=\"col\">failed calls</th><th scope=\"col\">time in calls</th>"
                "<th scope=\"col\">longest thread</th>"
                "<th class=\"text\" scope=\"col\">remark</th></tr>\n</thead>\n<tbody>\n",
                h->out);
    for (size_t i = 0; i < shown; i++)
        step_line(h->out, steps[i].step, &steps[i].sum);
    html_table_end(h->out);
    if (n > shown)
        (void)fprintf(
            h->out,
            "<p class=\"small\">The %zu of %zu steps with most time in calls; jobio job %u "
            "--steps lists all.</p>\n",
            shown, n, h->job->key.jobid);
    html_section_end(h->out);
}
