/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of MPI-IO. */
#include "report/html/html_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/io_histogram.h"
#include "common/numbers.h"
#include "report/summary/mpi.h"

static void cell(FILE *out, const char *text)
{
    (void)fputs("<td>", out);
    html_text(out, text);
    (void)fputs("</td>", out);
}

/* A dash, unless there is something to show. */
static void cell_if(FILE *out, bool is_there, const char *text)
{
    cell(out, is_there ? text : "–");
}

static void class_line(FILE *out, enum mpi_class class, const struct mpi_counter *c)
{
    uint64_t size = io_quantile(c->size_log2, 0.5, io_size_bound), bytes = c->bytes;
    uint64_t latency = io_quantile(c->latency_log2, 0.5, io_latency_bound);
    char buf[UNITS_SIZE];

    add_saturating(&bytes, c->requested_bytes);
    (void)fprintf(out, "<tr><th scope=\"row\">%s</th>", mpi_class_name(class));
    cell_if(out, c->calls, units_count(c->calls, buf));
    cell_if(out, bytes, units_bytes(bytes, buf));
    cell_if(out, size, size == UINT64_MAX ? "> 1 GiB" : html_plain(units_bytes(size, buf)));
    cell_if(out, c->errors, units_count(c->errors, buf));
    cell_if(out, c->time_ns, html_time(c->time_ns, buf));
    cell_if(out, latency, html_latency(latency, buf));
    (void)fputs("</tr>\n", out);
}

static void put_table(FILE *out, const struct mpi_account *account)
{
    html_table(out, "mpi", "The calls of MPI-IO by class of function");
    (void)fputs("<thead>\n<tr><th scope=\"col\">Functions</th><th scope=\"col\">calls</th>"
                "<th scope=\"col\">bytes</th><th scope=\"col\">median size</th>"
                "<th scope=\"col\">failed</th><th scope=\"col\">time in all processes</th>"
                "<th scope=\"col\">half within</th></tr>\n</thead>\n<tbody>\n",
                out);
    for (int i = 0; i < MPI_CLASS_COUNT; i++)
        if (account->classes[i].calls)
            class_line(out, i, &account->classes[i]);
    html_table_end(out);
}

/* Frees the sentence; nothing for NULL. */
static void put_sentence(FILE *out, const char *class, char *sentence)
{
    if (!sentence)
        return;
    (void)fprintf(out, "<p class=\"%s\">", class);
    html_sentence(out, sentence);
    (void)fputs("</p>\n", out);
    free(sentence);
}

static void put_cause(FILE *out, const char *cause)
{
    (void)fputs("<li>NOT complete: ", out);
    html_text(out, cause ? cause : "out of memory");
    (void)fputs(".</li>\n", out);
}

static void put_missing(FILE *out, const struct job_account *job)
{
    const struct completeness *c = &job->mpi->completeness;

    if (job_mpi_is_complete(job))
        return;
    (void)fputs("<ul class=\"small\">\n", out);
    for (size_t i = 0; i < c->n; i++) {
        _free_ char *cause = summary_mpi_cause(&c->items[i]);

        put_cause(out, cause);
    }
    if (!job_has_all_nodes(job))
        put_cause(out, SUMMARY_MPI_JOB);
    (void)fputs("</ul>\n", out);
}

void html_mpi(const struct html *h)
{
    const struct mpi_account *account = h->job->mpi;

    if (!job_has_mpi(h->job))
        return;
    html_section(h->out, "mpi", "MPI-IO");
    put_sentence(h->out, "mpi", summary_mpi(h->job));
    if (mpi_account_is_empty(account))
        put_sentence(h->out, "small", strdup("no calls"));
    else
        put_table(h->out, account);
    put_sentence(h->out, "small", summary_mpi_requested(account));
    put_sentence(h->out, "small", summary_mpi_unknown(account));
    put_sentence(h->out, "small", summary_mpi_writers(h->job));
    put_missing(h->out, h->job);
    html_section_end(h->out);
}
