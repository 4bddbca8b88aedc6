/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of block requests. */
#include "report/html/html_impl.h"

#include "common/io_histogram.h"
#include "common/numbers.h"

static void cell(FILE *out, bool is_there, const char *text)
{
    (void)fputs("<td>", out);
    html_text(out, is_there ? text : "–");
    (void)fputs("</td>", out);
}

static void class_line(FILE *out, const char *device, enum block_class class, bool shared,
                       const struct block_counter *c)
{
    uint64_t timed = block_counter_timed(c), times = max_u64(timed, 1);
    uint64_t p99 = io_quantile(c->latency_log2, 0.99, io_latency_bound);
    char buf[UNITS_SIZE];

    if (!c->requests)
        return;
    (void)fputs("<tr><th scope=\"row\">", out);
    html_text(out, device);
    (void)fprintf(out, " %s%s</th>", block_class_name(class), shared ? " *" : "");
    cell(out, true, units_count(c->requests, buf));
    cell(out, c->bytes, units_bytes(c->bytes, buf));
    cell(out, c->errors, units_count(c->errors, buf));
    cell(out, timed, html_time(c->queued_ns / times, buf));
    cell(out, timed, html_time(c->device_ns / times, buf));
    cell(out, p99, html_latency(p99, buf));
    (void)fputs("</tr>\n", out);
}

static void device_lines(FILE *out, const struct block_device *d)
{
    for (int class = 0; class < BLOCK_CLASS_COUNT; class ++)
        class_line(out, d->name, class, false, &d->own[class]);
    for (int class = 0; class < BLOCK_CLASS_COUNT; class ++)
        class_line(out, d->name, class, true, &d->shared[class]);
}

void html_block(const struct html *h)
{
    const struct block_account *account = h->job->block;

    if (!account || (!account->n && !account->incomplete))
        return;
    html_section(h->out, "block", "Block requests");
    html_table(h->out, "block", "The requests to disks by device and class");
    (void)fputs("<thead>\n<tr><th scope=\"col\">Requests</th><th scope=\"col\">number</th>"
                "<th scope=\"col\">bytes</th><th scope=\"col\">failed</th>"
                "<th scope=\"col\">mean time in the queue</th>"
                "<th scope=\"col\">mean time at the device</th>"
                "<th scope=\"col\">99 % within</th></tr>\n</thead>\n<tbody>\n",
                h->out);
    for (size_t i = 0; i < account->n; i++)
        device_lines(h->out, &account->items[i]);
    html_table_end(h->out);
    (void)fprintf(h->out, "<p class=\"small\">*: by kernel threads for all processes%s.</p>\n",
                  account->shared_at_most ? "; at most, because steps that ran at the same time "
                                            "have the same ones"
                                          : "");
    if (account->incomplete)
        (void)fputs("<p class=\"small\">NOT complete: some were not counted.</p>\n", h->out);
    html_section_end(h->out);
}
