/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of mounts, and a table of operations for each mount. */
#include "config.h"

#include "report/html/html_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"

static void cell(FILE *out, const char *text)
{
    (void)fprintf(out, "<td>%s</td>", text);
}

static void cell_bytes(FILE *out, uint64_t bytes)
{
    char buf[UNITS_SIZE];

    cell(out, bytes ? units_bytes(bytes, buf) : "–");
}

static void cell_rate(FILE *out, uint64_t rate)
{
    char buf[UNITS_SIZE];

    cell(out, rate ? units_rate(rate, buf) : "–");
}

static void cell_count(FILE *out, uint64_t count)
{
    char buf[UNITS_SIZE];

    cell(out, count ? units_count(count, buf) : "–");
}

/* A bucket's upper bound: "4 KiB". */
static void cell_size(FILE *out, uint64_t bound)
{
    char buf[UNITS_SIZE];

    cell(out, !bound                ? "–"
              : bound == UINT64_MAX ? "&gt; 1 GiB"
                                    : html_plain(units_bytes(bound, buf)));
}

/* A share of the run time, with a bar behind it. */
static void cell_waiting(FILE *out, double percent)
{
    const char *at_least = percent > 0 && percent < 1 ? "&lt; 1 %" : NULL;

    if (percent <= 0)
        cell(out, "–");
    else if (at_least)
        (void)fprintf(out, "<td>%s</td>", at_least);
    else
        (void)fprintf(out, "<td class=\"bar\" style=\"--part:%.0f%%\">%.0f %%</td>", percent,
                      percent);
}

/* --- all mounts ------------------------------------------------------------------------------- */

static uint64_t median_size(const struct io_account *io, enum io_op op, enum io_op copy)
{
    uint64_t sizes[IO_BUCKETS] = {0};
    const enum io_op ops[] = {op, copy};

    for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
        io_account_sizes(io, ops[i], sizes);
    return io_quantile(sizes, 0.5, io_size_bound);
}

/* The peak of a job is that of its busiest node: nodes need not peak at the same time. */
static void mounts_head(FILE *out, bool many_nodes)
{
    (void)fputs("<thead>\n<tr><th rowspan=\"2\" scope=\"col\">Mount</th>"
                "<th rowspan=\"2\" scope=\"col\">Waiting</th>"
                "<th colspan=\"4\" scope=\"colgroup\">Read</th>"
                "<th colspan=\"4\" scope=\"colgroup\">Written</th>"
                "<th rowspan=\"2\" scope=\"col\">Metadata calls</th>"
                "<th rowspan=\"2\" scope=\"col\">Failed calls</th></tr>\n<tr>",
                out);
    for (int i = 0; i < 2; i++)
        (void)fprintf(out,
                      "<th scope=\"col\">bytes</th><th scope=\"col\">peak%s</th>"
                      "<th scope=\"col\">calls</th><th scope=\"col\">median size</th>",
                      many_nodes ? " of a node" : "");
    (void)fputs("</tr>\n</thead>\n<tbody>\n", out);
}

static void mount_cells(const struct html *h, const struct summary_row *row, uint64_t read_median,
                        uint64_t write_median)
{
    cell_waiting(h->out, summary_waiting(&h->s, row->sums.all.time_ns));
    cell_bytes(h->out, row->sums.reads.bytes);
    cell_rate(h->out, row->read_peak);
    cell_count(h->out, row->sums.reads.requests);
    cell_size(h->out, read_median);
    cell_bytes(h->out, row->sums.writes.bytes);
    cell_rate(h->out, row->write_peak);
    cell_count(h->out, row->sums.writes.requests);
    cell_size(h->out, write_median);
    cell_count(h->out, row->shown.meta.requests);
    cell_count(h->out, row->shown.all.errors);
}

static void mount_line(const struct html *h, size_t i)
{
    const struct io_mount *m = h->s.rows[i].mount;

    (void)fprintf(h->out, "<tr><th scope=\"row\"><i class=\"dot %s\"></i>", html_colour(i));
    html_path(h->out, m->mount);
    (void)fputs("<small>", h->out);
    if (strcmp(m->mount, IO_NO_MOUNT) == 0)
        (void)fputs("failed before a file system was reached", h->out);
    else if (strcmp(m->mount, IO_OTHER_MOUNTS) == 0)
        (void)fputs("a step used more mounts than are counted separately", h->out);
    else
        html_text(h->out, m->fstype);
    if (strcmp(m->fstype, m->source) != 0) {
        (void)fputs(" ", h->out);
        html_path(h->out, m->source);
    }
    (void)fprintf(h->out, "%s</small></th>",
                  m->private ? ", mounted in the job’s own namespace only" : "");
    mount_cells(h, &h->s.rows[i], median_size(&m->io, IO_READ, IO_COPY_READ),
                median_size(&m->io, IO_WRITE, IO_COPY_WRITE));
    (void)fputs("</tr>\n", h->out);
}

/* A paragraph; nothing for NULL. Frees the sentence. */
static void put_sentence(FILE *out, char *sentence)
{
    if (!sentence)
        return;
    (void)fputs("<p class=\"small\">", out);
    html_sentence(out, sentence);
    (void)fputs("</p>\n", out);
    free(sentence);
}

/* Without peaks: two mounts need not peak in the same interval. */
static void sum_line(const struct html *h, const char *name, struct summary_row sum)
{
    sum.read_peak = sum.write_peak = 0;
    (void)fprintf(h->out, "<tr class=\"sum\"><th scope=\"row\">%s</th>", name);
    mount_cells(h, &sum, 0, 0);
    (void)fputs("</tr>\n", h->out);
}

void html_mounts(const struct html *h)
{
    struct summary_row rest = {0};
    char name[64];

    if (!h->s.n)
        return;
    html_section(h->out, "mounts", "By mount");
    html_table(h->out, "mounts", "What the job did on each mount");
    mounts_head(h->out, h->job->nodes_reported > 1);
    for (size_t i = 0; i < h->s.n; i++) {
        if (i < HTML_MOUNTS)
            mount_line(h, i);
        else
            summary_row_add(&rest, &h->s.rows[i]);
    }
    if (h->s.n > HTML_MOUNTS) {
        (void)snprintf(name, sizeof(name), "%zu more mounts", h->s.n - HTML_MOUNTS);
        sum_line(h, name, rest);
    }
    if (h->s.n > 1)
        sum_line(h, "All", h->s.total);
    html_table_end(h->out);
    put_sentence(h->out, summary_mapped(&h->s));
    html_section_end(h->out);
}

/* --- a mount by operation --------------------------------------------------------------------- */

/* "5 ENOSPC", or their sum and a line for each. Look-ups that found nothing are not failures. */
static void cell_errors(FILE *out, enum io_op op, const struct io_counter *c)
{
    char buf[UNITS_SIZE], name[16];

    if (!c->errors) {
        cell(out, "–");
        return;
    }
    (void)fprintf(out, "<td%s>%s", io_counter_failed(op, c) ? " class=\"failed\"" : "",
                  units_count(c->errors, buf));
    if (c->n_errnos == 1 && c->errnos[0].count == c->errors) {
        (void)fprintf(out, " %s</td>", io_errno_name(c->errnos[0].code, name));
        return;
    }
    for (size_t i = 0; i < c->n_errnos; i++)
        (void)fprintf(out, "<small>%s %s</small>", units_count(c->errnos[i].count, buf),
                      io_errno_name(c->errnos[i].code, name));
    (void)fputs("</td>", out);
}

static void cell_time(FILE *out, uint64_t ns)
{
    char buf[UNITS_SIZE];

    cell(out, ns ? html_time(ns, buf) : "–");
}

static void cell_percentile(FILE *out, const struct io_counter *c, double q)
{
    uint64_t bound = io_quantile(c->latency_log2, q, io_latency_bound);
    char buf[UNITS_SIZE];

    if (!bound) {
        cell(out, "–");
        return;
    }
    (void)fputs("<td>", out);
    html_text(out, html_latency(bound, buf));
    (void)fputs("</td>", out);
}

static void operation_line(const struct html *h, enum io_op op, const struct io_account *io)
{
    const struct io_counter *c = io->ops[op];
    uint64_t sizes[IO_BUCKETS] = {0};

    io_account_sizes(io, op, sizes);
    (void)fprintf(h->out, "<tr><th scope=\"row\">%s</th>", io_op_name(op));
    cell_count(h->out, c->requests);
    cell_bytes(h->out, c->bytes);
    cell_size(h->out, io_quantile(sizes, 0.5, io_size_bound));
    cell_errors(h->out, op, c);
    cell_time(h->out, c->time_ns);
    cell_waiting(h->out, summary_waiting(&h->s, c->time_ns));
    cell_percentile(h->out, c, 0.5);
    cell_percentile(h->out, c, 0.99);
    cell_time(h->out, c->max_ns);
    (void)fputs("</tr>\n", h->out);
}

static void operations_head(FILE *out)
{
    static const char *const names[] = {"Operation",   "calls",  "bytes",   "median size",
                                        "failed",      "time",   "waiting", "half within",
                                        "99 % within", "longest"};

    (void)fputs("<thead>\n<tr>", out);
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void)fprintf(out, "<th scope=\"col\">%s</th>", names[i]);
    (void)fputs("</tr>\n</thead>\n<tbody>\n", out);
}

static void put_operations(const struct html *h, size_t i, bool open)
{
    const struct io_mount *m = h->s.rows[i].mount;
    _free_ char *title = text_format("Operations on %s", m->mount);

    (void)fprintf(h->out, "<details%s>\n<summary><i class=\"dot %s\"></i>",
                  open ? " open=\"open\"" : "", html_colour(i));
    html_text(h->out, m->mount);
    (void)fputs("</summary>\n", h->out);
    html_table(h->out, "operations", title ? title : "Operations");
    operations_head(h->out);
    for (int op = 0; op < IO_OP_COUNT; op++)
        if (m->io.ops[op] && m->io.ops[op]->requests)
            operation_line(h, (enum io_op)op, &m->io);
    html_table_end(h->out);
    put_sentence(h->out, summary_async(&m->io));
    put_sentence(h->out, summary_order(&m->io));
    put_sentence(h->out, summary_throttled(&m->io));
    put_sentence(h->out, summary_users(m));
    put_sentence(h->out, summary_rpc(m));
    put_sentence(h->out, summary_cache(m));
    (void)fputs("</details>\n", h->out);
}

void html_operations(const struct html *h)
{
    if (!h->s.n)
        return;
    html_section(h->out, "operations", "By operation");
    for (size_t i = 0; i < h->s.n && i < HTML_MOUNTS; i++)
        put_operations(h, i, i < HTML_COLOURS);
    if (h->s.n > HTML_MOUNTS)
        (void)fprintf(h->out, "<p class=\"small\">The %u of %zu mounts with most waiting.</p>\n",
                      HTML_MOUNTS, h->s.n);
    html_section_end(h->out);
}
