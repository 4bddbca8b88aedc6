/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The job over time: by mount, and by node. */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "report/html/chart.h"
#include "report/html/html_impl.h"

/* More than a time line has: a job may start and end without I/O. */
#define BINS_MAX 256

static char *show_rate(double value, char buf[UNITS_SIZE])
{
    return units_rate((uint64_t)llround(value), buf);
}

/* "120/s", "0.25/s" */
static char *show_calls(double value, char buf[UNITS_SIZE])
{
    if (value >= 1000)
        strcat(units_count((uint64_t)llround(value), buf), "/s");
    else
        (void)snprintf(buf, UNITS_SIZE, "%.*g/s", value < 0.1 ? 1 : 3, value);
    return buf;
}

static char *show_threads(double value, char buf[UNITS_SIZE])
{
    if (value >= 1000)
        return units_count((uint64_t)llround(value), buf);
    if (value < 0.01)
        return strcpy(buf, "&lt; 0.01");
    (void)snprintf(buf, UNITS_SIZE, "%.*g", value < 0.1 ? 1 : 3, value);
    return buf;
}

/* The charts of a time line; values per second, divided by `unit`. */
static const struct measure {
    const char *title, *column;
    enum timeline_kind kind;
    double unit, base;
    char *(*show)(double value, char buf[UNITS_SIZE]);
} measures[] = {
    {"Read", "read", TIMELINE_READ, 1, 1024, show_rate},
    {"Written", "written", TIMELINE_WRITE, 1, 1024, show_rate},
    {"Metadata and sync calls", "metadata and sync calls", TIMELINE_META, 1, 1000, show_calls},
    {"Threads waiting for I/O", "threads waiting", TIMELINE_WAIT, 1e9, 1000, show_threads},
};

static void scan(const struct io_mounts *mounts, struct chart_time *time, uint64_t *end_s)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct timeline *t = &mounts->items[i].timeline;

        if (timeline_is_empty(t))
            continue;
        if (t->width_s > time->width_s)
            time->width_s = t->width_s;
        if (!*end_s || t->start_s < time->from_s)
            time->from_s = t->start_s;
        if (timeline_end_s(t) > *end_s)
            *end_s = timeline_end_s(t);
    }
}

/* From the start of the job to its end, in bins of the coarsest time line. false: no time line. */
static bool time_of(const struct job_account *job, struct chart_time *ret)
{
    struct chart_time time = {.zero_s = job->start_ns / NS_PER_S};
    uint64_t end_s = 0, job_end_s = (job->start_ns + job->elapsed_ns + NS_PER_S - 1) / NS_PER_S;

    scan(&job->mounts, &time, &end_s);
    for (size_t i = 0; i < job->n_steps; i++)
        scan(&job->steps[i].mounts, &time, &end_s);
    if (!end_s)
        return false;
    if (!time.zero_s)
        time.zero_s = time.from_s;
    if (time.zero_s < time.from_s)
        time.from_s = time.zero_s;
    if (job_end_s > end_s && job->start_ns)
        end_s = job_end_s;
    while ((end_s - time.from_s) / time.width_s > BINS_MAX - 2)
        time.width_s *= 2;
    time.from_s -= time.from_s % time.width_s;
    time.n = (size_t)((end_s - time.from_s + time.width_s - 1) / time.width_s);
    *ret = time;
    return true;
}

/* values += the time line, per second. Its bins start at multiples of their width, which is at most
 * ours, so that each lies within one of ours. */
static void add_timeline(double *values, const struct timeline *t, const struct measure *measure,
                         const struct chart_time *time)
{
    for (unsigned i = 0; i < t->n; i++) {
        uint64_t at = (t->start_s + i * t->width_s - time->from_s) / time->width_s;

        if (at < time->n)
            values[at] +=
                (double)t->bins[i].of[measure->kind] / measure->unit / (double)time->width_s;
    }
}

/* --- by mount --------------------------------------------------------------------------------- */

static void put_stack(const struct html *h, const struct measure *measure,
                      const struct chart_time *time)
{
    size_t own = h->s.n < HTML_COLOURS ? h->s.n : HTML_COLOURS;
    _free_ double *values = calloc((HTML_COLOURS + 1) * time->n, sizeof(*values));
    struct chart_part parts[HTML_COLOURS + 1];
    struct chart chart = {measure->title, measure->show, measure->base, parts, own};
    char others[32];

    if (!values)
        return;
    (void)snprintf(others, sizeof(others), "%zu other mounts", h->s.n - own);
    for (size_t i = 0; i <= own; i++)
        parts[i] = (struct chart_part){.name = i < own ? h->s.rows[i].mount->mount : others,
                                       .colour = html_colour(i < own ? i : HTML_COLOURS),
                                       .values = values + i * time->n};
    for (size_t i = 0; i < h->s.n; i++)
        add_timeline(values + (i < own ? i : own) * time->n, &h->s.rows[i].mount->timeline, measure,
                     time);
    chart.n_parts += h->s.n > own;
    chart_stack(h->out, &chart, time);
}

/* --- by node ---------------------------------------------------------------------------------- */

struct node {
    const char *name;
    double *values, sum; /* owned */
};

struct nodes {
    struct node *items; /* owned */
    size_t n, room;
};

static void nodes_clear(struct nodes *nodes)
{
    for (size_t i = 0; i < nodes->n; i++)
        free(nodes->items[i].values);
    free(nodes->items);
}

/* n2 before n10. */
static int by_name(const void *a, const void *b)
{
    return strverscmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

static int by_sum(const void *pa, const void *pb)
{
    const struct node *a = pa, *b = pb;

    return a->sum != b->sum ? (a->sum < b->sum ? 1 : -1) : by_name(a, b);
}

static int nodes_list(const struct job_account *job, size_t bins, struct nodes *nodes)
{
    size_t n = 0;

    nodes->items = calloc(job->n_steps + 1, sizeof(*nodes->items));
    if (!nodes->items)
        return -ENOMEM;
    for (size_t i = 0; i < job->n_steps; i++)
        nodes->items[i].name = job->steps[i].node ? job->steps[i].node : "?";
    qsort(nodes->items, job->n_steps, sizeof(*nodes->items), by_name);
    for (size_t i = 0; i < job->n_steps; i++)
        if (!n || strcmp(nodes->items[n - 1].name, nodes->items[i].name) != 0)
            nodes->items[n++].name = nodes->items[i].name;
    for (; nodes->n < n; nodes->n++) {
        nodes->items[nodes->n].values = calloc(bins, sizeof(double));
        if (!nodes->items[nodes->n].values)
            return -ENOMEM;
    }
    return 0;
}

static void nodes_fill(struct nodes *nodes, const struct job_account *job, const struct measure *a,
                       const struct measure *b, const struct chart_time *time)
{
    for (size_t i = 0; i < job->n_steps; i++) {
        const struct step_account *step = &job->steps[i];
        struct node key = {.name = step->node ? step->node : "?"};
        struct node *node = bsearch(&key, nodes->items, nodes->n, sizeof(*nodes->items), by_name);

        for (size_t m = 0; node && m < step->mounts.n; m++) {
            add_timeline(node->values, &step->mounts.items[m].timeline, a, time);
            if (b)
                add_timeline(node->values, &step->mounts.items[m].timeline, b, time);
        }
    }
    for (size_t i = 0; i < nodes->n; i++)
        for (size_t bin = 0; bin < time->n; bin++)
            nodes->items[i].sum += nodes->items[i].values[bin];
}

static void put_heat(const struct html *h, const struct chart *chart, const struct measure *a,
                     const struct measure *b, const struct chart_time *time)
{
    CLEANUP(nodes_clear) struct nodes nodes = {0};
    struct chart_row rows[HTML_HEAT_NODES];
    size_t n;

    if (nodes_list(h->job, time->n, &nodes) < 0 || nodes.n < 2)
        return;
    nodes_fill(&nodes, h->job, a, b, time);
    n = nodes.n < HTML_HEAT_NODES ? nodes.n : HTML_HEAT_NODES;
    if (nodes.n > n) {
        qsort(nodes.items, nodes.n, sizeof(*nodes.items), by_sum);
        qsort(nodes.items, n, sizeof(*nodes.items), by_name);
    }
    for (size_t i = 0; i < n; i++)
        rows[i] = (struct chart_row){nodes.items[i].name, nodes.items[i].values};
    chart_heat(h->out, chart, rows, n, time);
    if (nodes.n > n)
        (void)fprintf(h->out,
                      "<p class=\"small\">The %zu of %zu nodes with the largest values.</p>\n", n,
                      nodes.n);
}

static void put_heats(const struct html *h, const struct chart_time *time)
{
    const struct chart moved = {"Read and written", show_rate, 1024, NULL, 0};
    const struct chart waited = {"Threads waiting for I/O", show_threads, 1000, NULL, 0};

    put_heat(h, &moved, &measures[TIMELINE_READ], &measures[TIMELINE_WRITE], time);
    put_heat(h, &waited, &measures[TIMELINE_WAIT], NULL, time);
}

/* --- as numbers ------------------------------------------------------------------------------- */

static void number_line(FILE *out, const double *values, size_t bin, const struct chart_time *time)
{
    uint64_t at = time->from_s + bin * time->width_s;
    char buf[UNITS_SIZE];

    (void)fprintf(out, "<tr><th scope=\"row\">%s</th>",
                  units_elapsed((at > time->zero_s ? at - time->zero_s : 0) * NS_PER_S, buf));
    for (size_t k = 0; k < ARRAY_SIZE(measures); k++) {
        double value = values[k * time->n + bin];

        (void)fprintf(out, "<td>%s</td>", value > 0 ? measures[k].show(value, buf) : "–");
    }
    (void)fputs("</tr>\n", out);
}

static bool is_quiet(const double *values, size_t bin, size_t n)
{
    for (size_t k = 0; k < ARRAY_SIZE(measures); k++)
        if (values[k * n + bin] > 0)
            return false;
    return true;
}

static void put_numbers(const struct html *h, const struct chart_time *time)
{
    _free_ double *values = calloc(ARRAY_SIZE(measures) * time->n, sizeof(*values));

    if (!values)
        return;
    for (size_t k = 0; k < ARRAY_SIZE(measures); k++)
        for (size_t i = 0; i < h->s.n; i++)
            add_timeline(values + k * time->n, &h->s.rows[i].mount->timeline, &measures[k], time);
    (void)fputs("<details class=\"screen\">\n<summary>The same as numbers</summary>\n", h->out);
    html_table(h->out, "numbers", "All mounts over time");
    (void)fputs("<thead>\n<tr><th scope=\"col\">After the start</th>", h->out);
    for (size_t k = 0; k < ARRAY_SIZE(measures); k++)
        (void)fprintf(h->out, "<th scope=\"col\">%s</th>", measures[k].column);
    (void)fputs("</tr>\n</thead>\n<tbody>\n", h->out);
    for (size_t bin = 0; bin < time->n; bin++)
        if (!is_quiet(values, bin, time->n))
            number_line(h->out, values, bin, time);
    html_table_end(h->out);
    (void)fputs("</details>\n", h->out);
}

static void put_bursts(const struct html *h)
{
    for (size_t i = 0; i < h->s.n; i++) {
        _free_ char *bursts = summary_bursts(&h->s, h->s.rows[i].mount);

        if (!bursts)
            continue;
        (void)fputs("<p>", h->out);
        html_text(h->out, h->s.rows[i].mount->mount);
        (void)fputs(": ", h->out);
        html_text(h->out, bursts);
        (void)fputs(".</p>\n", h->out);
    }
}

void html_times(const struct html *h)
{
    struct chart_time time;
    char width[UNITS_SIZE];

    if (!h->s.n)
        return;
    html_section(h->out, "times", "Over time");
    if (!time_of(h->job, &time)) {
        (void)fputs(
            "<p>This job has no time line: it was counted by an older jobio, or the account does "
            "not come from jobiod.</p>\n",
            h->out);
        html_section_end(h->out);
        return;
    }
    (void)fprintf(h->out, "<p>Each column is the mean of %s%s.</p>\n",
                  html_plain(html_time(time.width_s * NS_PER_S, width)),
                  h->job->nodes_reported > 1 ? ", for all nodes together" : "");
    put_bursts(h);
    for (size_t k = 0; k < ARRAY_SIZE(measures); k++)
        put_stack(h, &measures[k], &time);
    put_heats(h, &time);
    put_numbers(h, &time);
    html_section_end(h->out);
}
