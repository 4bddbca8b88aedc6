/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/block.h"

#include <stdlib.h>

#include "common/cleanup.h"
#include "common/io_histogram.h"
#include "common/numbers.h"
#include "common/text_buffer.h"
#include "report/layout.h"
#include "report/table.h"
#include "report/text/text_impl.h"

static const struct table_column columns_of_block[] = {
    {.title = "block requests", .width = 24, .left = true, .cut = 24},
    {.title = "number", .width = 9},
    {.title = "bytes", .width = 10},
    {.title = "errs", .width = 7, .least = 80},
    {.title = "~queued", .width = 9, .least = 50},
    {.title = "~device", .width = 9, .least = 60},
    {.title = "p99", .width = 9, .least = 70},
};

static void time_cell(struct table *table, uint64_t ns)
{
    char buf[UNITS_SIZE];

    table_cell(table, ns == UINT64_MAX ? ">137 s" : summary_time(ns, buf));
}

static void time_cells(struct table *table, const struct block_counter *c)
{
    uint64_t timed = block_counter_timed(c);

    if (!timed) {
        for (int i = 0; i < 3; i++)
            table_cell(table, "-");
        return;
    }
    time_cell(table, c->queued_ns / timed);
    time_cell(table, c->device_ns / timed);
    time_cell(table, io_quantile(c->latency_log2, 0.99, io_latency_bound));
}

static void write_class(struct table *table, const char *device, const char *class, bool shared,
                        const struct block_counter *c)
{
    char name[BLOCK_NAME_SIZE + 32];

    if (!c->requests)
        return;
    (void)snprintf(name, sizeof(name), "%s %s%s", device, class, shared ? " *" : "");
    table_cell(table, name);
    table_count(table, c->requests);
    table_bytes(table, c->bytes);
    table_count(table, c->errors);
    time_cells(table, c);
    table_end(table);
}

static void write_devices(FILE *out, const struct block_account *account, size_t columns)
{
    struct table table = table_make(out, columns_of_block, ARRAY_SIZE(columns_of_block), columns);
    bool any_shared = false;

    table_titles(&table);
    for (size_t i = 0; i < account->n; i++) {
        const struct block_device *d = &account->items[i];

        for (int class = 0; class < BLOCK_CLASS_COUNT; class ++)
            write_class(&table, d->name, block_class_name(class), false, &d->own[class]);
        for (int class = 0; class < BLOCK_CLASS_COUNT; class ++) {
            write_class(&table, d->name, block_class_name(class), true, &d->shared[class]);
            any_shared |= d->shared[class].requests != 0;
        }
    }
    layout_wrap(out,
                "(~queued and ~device: the mean times of a request before and after the driver got "
                "it; p99: an upper bound of 99 % of the latter, in powers of two)",
                columns, 1, 4);
    if (any_shared)
        layout_wrap(out,
                    account->shared_at_most
                        ? "(*: by kernel threads for all processes, mostly writeback; at most, "
                          "because steps that ran at the same time have the same ones)"
                        : "(*: by kernel threads for all processes, mostly writeback)",
                    columns, 1, 4);
}

void text_block(FILE *out, const struct text *t)
{
    const struct block_account *account = t->s.job->block;

    if (!account)
        return;
    (void)fputc('\n', out);
    if (account->n)
        write_devices(out, account, text_columns(t));
    else
        (void)fputs("block requests: none\n", out);
    if (account->incomplete)
        layout_wrap(out, "block requests NOT complete: some were not counted", text_columns(t), 2,
                    3);
}

char *report_block_text(const struct job_account *job, size_t columns)
{
    static const char not_counted[] = "block requests: not counted (count = yes in [block] of "
                                      "jobio.conf; jobs from ClickHouse have none)";
    struct text t = {.s = {.job = job}, .style = {.columns = columns}};
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    if (!job->block) {
        (void)fputc('\n', text.out);
        layout_wrap(text.out, not_counted, text_columns(&t), 2, 3);
    }
    text_block(text.out, &t);
    return text_buffer_take(&text);
}
