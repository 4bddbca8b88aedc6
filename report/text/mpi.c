/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/mpi.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io_histogram.h"
#include "common/numbers.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "report/layout.h"
#include "report/summary/mpi.h"
#include "report/table.h"
#include "report/text/text_impl.h"

static const struct table_column columns_of_mpi[] = {
    {.title = "MPI-IO", .width = 21, .left = true},
    {.title = "calls", .width = 9},
    {.title = "bytes", .width = 10},
    {.title = "~size", .width = 9, .least = 60},
    {.title = "errs", .width = 7, .least = 50},
    {.title = "time", .width = 9, .least = 70},
    {.title = "p50", .width = 9, .least = 80},
};

static void time_cell(struct table *table, uint64_t ns)
{
    char buf[UNITS_SIZE];

    table_cell(table, summary_time(ns, buf));
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

/* Frees the words, which are NULL if out of memory. */
static void write_cause(FILE *out, char *words, size_t columns)
{
    _free_ char *line = text_format("MPI-IO NOT complete: %s", words ? words : "out of memory");

    layout_wrap(out, line ? line : "MPI-IO NOT complete: out of memory", columns, 2, 3);
    free(words);
}

static void write_causes(FILE *out, const struct job_account *job, size_t columns)
{
    const struct completeness *c = &job->mpi->completeness;

    for (size_t i = 0; i < c->n; i++)
        write_cause(out, summary_mpi_cause(&c->items[i]), columns);
    if (!job_has_all_nodes(job))
        write_cause(out, strdup(SUMMARY_MPI_JOB), columns);
}

/* Frees the note; NULL: there is none. */
static void write_note(FILE *out, char *note, size_t columns, size_t lines)
{
    _free_ char *line = note ? text_format("(%s)", note) : NULL;

    if (line)
        layout_wrap(out, line, columns, 1, lines);
    free(note);
}

static void write_account(FILE *out, const struct job_account *job, size_t columns)
{
    struct table table = table_make(out, columns_of_mpi, ARRAY_SIZE(columns_of_mpi), columns);
    const struct mpi_account *account = job->mpi;

    if (mpi_account_is_empty(account)) {
        (void)fputs("MPI-IO: no calls\n", out);
    } else {
        table_titles(&table);
        for (int i = 0; i < MPI_CLASS_COUNT; i++)
            if (account->classes[i].calls)
                write_class(&table, i, &account->classes[i]);
        write_note(out, summary_mpi_requested(account), columns, 2);
        write_note(out, summary_mpi_unknown(account), columns, 2);
        write_note(out, summary_mpi_writers(job), columns, 4); /* it has a path */
    }
    write_causes(out, job, columns);
}

#define COST_LINES 2

void text_mpi_cost(FILE *out, const struct text *t, size_t lines)
{
    size_t most = text_is_narrow(t) ? 2 * COST_LINES : COST_LINES;
    _free_ char *line = summary_mpi(t->s.job);

    if (line)
        text_lines(out, t, TEXT_TITLE, line, lines < most ? lines : most);
}

void text_mpi(FILE *out, const struct text *t)
{
    (void)fputc('\n', out);
    if (t->s.job->mpi)
        write_account(out, t->s.job, text_columns(t));
    else
        (void)fputs("MPI-IO: not counted (sbatch --io-mpi; jobs from ClickHouse have none)\n", out);
}

char *report_mpi_text(const struct job_account *job, size_t columns)
{
    struct text t = {.s = {.job = job}, .style = {.columns = columns}};
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    text_mpi(text.out, &t);
    return text_buffer_take(&text);
}
