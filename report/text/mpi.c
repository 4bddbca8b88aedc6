/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/mpi.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io_histogram.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"
#include "report/table.h"

#define COLUMNS_DEFAULT 80

static const struct table_column columns_of_mpi[] = {
    {.title = "MPI-IO", .width = 22, .left = true},
    {.title = "calls", .width = 9},
    {.title = "bytes", .width = 10},
    {.title = "~size", .width = 9, .least = 60},
    {.title = "errs", .width = 7, .least = 50},
    {.title = "time", .width = 9, .least = 70},
    {.title = "p50", .width = 9, .least = 80},
};

/* What the causes of common/mpi.h mean: the words before and after the count. */
static const struct {
    const char *cause, *before, *words;
} causes[] = {
    {MPI_CAUSE_LATE, "", "processes may have called MPI-IO before it was counted"},
    {MPI_CAUSE_CALLS, "", "calls not counted: counters full"},
    {MPI_CAUSE_ENDS, "", "calls whose return was not seen"},
    {MPI_CAUSE_UNSEEN, "at least ", "programs not looked at"},
};

static void time_cell(struct table *table, uint64_t ns)
{
    char buf[UNITS_SIZE];

    table_cell(table, ns ? units_time(ns, buf) : "-");
}

static void bound_cell(struct table *table, const struct mpi_counter *c)
{
    uint64_t bound = io_quantile(c->latency_log2, 0.5, io_latency_bound);

    if (bound == UINT64_MAX)
        table_cell(table, ">137 s"); /* 2^37 ns, where the last bucket begins */
    else
        time_cell(table, bound);
}

static void write_class(struct table *table, enum mpi_class class, const struct mpi_counter *c)
{
    uint64_t bytes = c->bytes;
    char buf[UNITS_SIZE];

    add_saturating(&bytes, c->requested_bytes);
    table_cell(table, mpi_class_name(class));
    table_count(table, c->calls);
    table_bytes(table, bytes);
    table_cell(table, units_bytes_bound(io_quantile(c->size_log2, 0.5, io_size_bound), buf));
    table_count(table, c->errors);
    time_cell(table, c->time_ns);
    bound_cell(table, c);
    table_end(table);
}

/* malloc'd; NULL: out of memory. */
static char *cause_line(const struct incomplete *item)
{
    _free_ char *clean = NULL;
    char count[UNITS_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
        if (!strcmp(causes[i].cause, item->cause))
            return text_format("MPI-IO NOT complete: %s%s %s", causes[i].before,
                               units_count(item->count, count), causes[i].words);
    clean = utf8_sanitize(item->cause);
    return clean ? text_format("MPI-IO NOT complete: %s", clean) : NULL;
}

static void write_cause(FILE *out, const struct incomplete *item, size_t columns)
{
    _free_ char *line = cause_line(item);

    layout_wrap(out, line ? line : "MPI-IO NOT complete: out of memory", columns, 2, 3);
}

/* Takes over the line; NULL: out of memory. */
static void write_note(FILE *out, char *line, size_t columns)
{
    layout_wrap(out, line ? line : "(a note is missing: out of memory)", columns, 1, 2);
    free(line);
}

/* What the bytes are not. */
static void write_notes(FILE *out, const struct mpi_account *account, size_t columns)
{
    uint64_t unknown = 0, requested = 0;
    char buf[UNITS_SIZE];

    for (int i = 0; i < MPI_CLASS_COUNT; i++) {
        add_saturating(&unknown, account->classes[i].unknown_calls);
        if (!mpi_class_is_write(i))
            add_saturating(&requested, account->classes[i].requested_bytes);
    }
    if (requested)
        write_note(out,
                   text_format("(%s of the reads have no status: they are what the calls asked "
                               "for)",
                               units_bytes(requested, buf)),
                   columns);
    if (unknown)
        write_note(out,
                   text_format("(without the bytes of %s calls that have no status, and a type "
                               "whose size only the library knows)",
                               units_count(unknown, buf)),
                   columns);
}

static void write_account(FILE *out, const struct mpi_account *account, size_t columns)
{
    struct table table = table_make(out, columns_of_mpi, ARRAY_SIZE(columns_of_mpi), columns);

    if (mpi_account_is_empty(account)) {
        (void)fputs("MPI-IO: no calls\n", out);
    } else {
        table_titles(&table);
        for (int i = 0; i < MPI_CLASS_COUNT; i++)
            if (account->classes[i].calls)
                write_class(&table, i, &account->classes[i]);
        write_notes(out, account, columns);
    }
    for (size_t i = 0; i < account->completeness.n; i++)
        write_cause(out, &account->completeness.items[i], columns);
}

char *report_mpi_text(const struct job_account *job, size_t columns)
{
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    if (job->mpi)
        write_account(text.out, job->mpi, columns ? columns : COLUMNS_DEFAULT);
    else
        (void)fputs("MPI-IO: not counted\n", text.out);
    return text_buffer_take(&text);
}
