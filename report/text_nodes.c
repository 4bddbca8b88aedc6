/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job by node, and by step on each node, as tables. */
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/layout.h"
#include "report/nodes.h"
#include "report/text.h"
#include "report/text_impl.h"

static void cell(FILE *out, const char *text, size_t width)
{
    fputc(' ', out);
    layout_right(out, text, width);
}

static void node_line(FILE *out, const struct node_sum *n)
{
    _free_ char *name = layout_fit(n->node, 24);
    char buf[UNITS_SIZE];

    if (!name)
        return;
    fputs("  ", out);
    layout_left(out, name, 24);
    cell(out, n->reads.bytes ? units_bytes_short(n->reads.bytes, buf) : "-", 7);
    cell(out, n->writes.bytes ? units_bytes_short(n->writes.bytes, buf) : "-", 7);
    cell(out, n->meta.requests ? units_count_short(n->meta.requests, buf) : "-", 7);
    cell(out, n->all.errors ? units_count_short(n->all.errors, buf) : "-", 7);
    cell(out, n->all.time_ns ? units_time(n->all.time_ns, buf) : "-", 9);
    fputc('\n', out);
}

static void imbalance_line(FILE *out, const struct node_sum *nodes, size_t n, size_t total)
{
    static const char *const names[] = {"read", "written", "metadata", "wait"};
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
        fprintf(line, "%s%s %.2f", between, names[i], value);
        between = ", ";
    }
    if (fclose(line) == 0)
        layout_wrap(out, text, TEXT_COLUMNS, 2, 2);
}

void text_nodes(FILE *out, const struct job_account *job, size_t least, size_t limit)
{
    _free_ struct node_sum *nodes = NULL;
    size_t n = 0;

    if (nodes_sum(job, &nodes, &n) < 0 || n < least)
        return;
    fputs("\n  node                        read   write    meta  errors      wait\n", out);
    for (size_t i = 0; i < n && i < limit; i++)
        node_line(out, &nodes[i]);
    if (n > limit)
        fprintf(out, "  %zu more nodes\n", n - limit);
    imbalance_line(out, nodes, n, n > job->nodes_reported ? n : job->nodes_reported);
}

char *report_nodes_text(const struct job_account *job)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    text_nodes(out, job, 0, SIZE_MAX);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

char *report_steps_text(const struct job_account *job)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return NULL;
    text_steps(out, job, SIZE_MAX);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
