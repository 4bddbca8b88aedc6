/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text.h"
#include "common/text_buffer.h"
#include "report/advice/advice.h"
#include "report/layout.h"
#include "report/text/text_impl.h"

/* The title, the verdict and completeness get the lines that they need, then the first mounts, then
 * MPI-IO, then the notes, then the other mounts. */
#define SHORT_LINES 12
#define NARROW_LINES 18 /* on a terminal that is narrower than 80 */
#define SHORT_LEAST_MOUNTS 2
#define SHORT_MOUNTS 5
#define SHORT_COMPLETENESS 3
#define SHORT_ERRORS 4

/* A job that stays below both gets one line, or two. */
#define SMALL_BYTES (UINT64_C(1) << 20)
#define SMALL_REQUESTS 1000
#define SMALL_LINES 4 /* that one line, if it does not fit */

static const char *const summary_names[] = {
    [SUMMARY_OFF] = "off",
    [SUMMARY_SHORT] = "short",
    [SUMMARY_FULL] = "full",
};

int summary_parse(const char *text)
{
    for (size_t i = 0; i < ARRAY_SIZE(summary_names); i++)
        if (!strcmp(summary_names[i], text))
            return (int)i;
    return -EINVAL;
}

const char *summary_name(enum summary summary)
{
    return (unsigned)summary < ARRAY_SIZE(summary_names) ? summary_names[summary] : "unknown";
}

/* Print `who`, `what` and as much of "; complete: 1/1 nodes, 0 events lost" as fits in one line (a
 * narrow terminal wraps it). If `who` and `what` alone do not fit, all of it is wrapped. False: out
 * of memory. */
static bool write_small(FILE *out, const struct text *t, const char *who, const char *what)
{
    const struct job_account *job = t->s.job;
    _free_ char *line = NULL;
    char end[96];

    (void)snprintf(end, sizeof(end), "; %s: %u/%u nodes, 0 events lost",
                   job_is_complete(job) ? "complete" : "NOT complete", job->nodes_reported,
                   job->nodes_expected);
    const size_t ends[] = {strlen(end), strcspn(end, ","), strcspn(end, ":"), strlen(end)};

    for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
        free(line);
        line = text_format("I/O%s%s%.*s", who, what, (int)ends[i], end);
        if (!line)
            return false;
        if (strlen(line) <= TEXT_COLUMNS)
            break;
    }
    text_lines(out, t, TEXT_PLAIN, line, SMALL_LINES);
    return true;
}

/* Print a line or two for a job with little I/O. False: it has more to say. */
static bool small_line(FILE *out, const struct text *t)
{
    const struct job_account *job = t->s.job;
    const struct summary_row *sum = &t->s.total;
    double waiting = summary_waiting(&t->s, sum->sums.all.time_ns);
    char read[UNITS_SIZE], written[UNITS_SIZE], what[256];
    char failed[32] = "", waited[32] = "";
    _free_ char *who = NULL, *of_who = NULL;

    if (sum->sums.all.bytes >= SMALL_BYTES || sum->sums.all.requests >= SMALL_REQUESTS ||
        (t->s.notes && t->s.notes->n) || job->completeness.lost || job->completeness.n ||
        !job->nodes_expected || job_lost_time(job) || job_lost_mpi_time(job))
        return false;
    who = job->command ? NULL : text_who(job);
    of_who = who ? text_format(" of job %s", who) : strdup("");
    if (!of_who)
        return false;
    if (sum->shown.all.errors)
        snprintf(failed, sizeof(failed), ", %u failed", (unsigned)sum->shown.all.errors);
    if (waiting >= 1)
        snprintf(waited, sizeof(waited), ", %.0f %% waiting", waiting);
    snprintf(what, sizeof(what), ": %s read, %s written, %u calls%s%s",
             units_bytes(sum->sums.reads.bytes, read), units_bytes(sum->sums.writes.bytes, written),
             (unsigned)sum->sums.all.requests, failed, waited);
    return write_small(out, t, of_who, what);
}

/* The output of `write` with at most `limit` lines or rows, malloc'd; NULL: out of memory. */
static char *written(void (*write)(FILE *out, const struct text *t, size_t limit),
                     const struct text *t, size_t limit)
{
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    write(text.out, t, limit);
    return text_buffer_take(&text);
}

static void write_head(FILE *out, const struct text *t, size_t errors)
{
    text_title(out, t);
    text_errors(out, t, errors);
    text_verdict(out, t);
}

/* The table with as many mounts as `lines` hold; the others are one line. */
static char *fit_table(const struct text *t, size_t lines)
{
    char *table = NULL;

    for (size_t limit = 0; limit <= SHORT_MOUNTS; limit++) {
        char *larger = written(text_table, t, limit);

        if (!larger || (table && text_count_lines(larger) > lines)) {
            free(larger);
            break;
        }
        free(table);
        table = larger;
    }
    return table;
}

static void write_short(FILE *out, const struct text *t)
{
    _free_ char *head = NULL, *mpi = NULL, *table = NULL, *notes = NULL, *end = NULL;
    size_t left, least;

    if (small_line(out, t))
        return;
    head = written(write_head, t, SHORT_ERRORS);
    end = written(text_completeness, t, SHORT_COMPLETENESS);
    left = (text_is_narrow(t) ? NARROW_LINES : SHORT_LINES) - text_count_lines(head) -
           text_count_lines(end);
    table = written(text_table, t, SHORT_LEAST_MOUNTS);
    least = text_count_lines(table);
    mpi = written(text_mpi_cost, t, left > least ? left - least : 0);
    left -= text_count_lines(mpi);
    notes = written(text_notes, t, left > least ? left - least : 0);
    free(table);
    table = fit_table(t, left - text_count_lines(notes));
    (void)fprintf(out, "%s%s%s%s%s", head ? head : "", mpi ? mpi : "", table ? table : "",
                  notes ? notes : "", end ? end : "NOT complete: out of memory\n");
}

char *report_text(const struct job_account *job, enum summary summary,
                  const struct text_style *style)
{
    struct text t = {.style = style ? *style : (struct text_style){NULL, false, 0}};
    struct text_buffer text;
    char *ret;

    if (summary == SUMMARY_OFF)
        return strdup("");
    if (summary_make(job, t.style.notes, &t.s) < 0)
        return NULL;
    if (!text_buffer_open(&text))
        summary = SUMMARY_OFF;
    if (summary == SUMMARY_FULL)
        text_full(text.out, &t);
    else if (summary == SUMMARY_SHORT)
        write_short(text.out, &t);
    ret = text_buffer_take(&text);
    summary_clear(&t.s);
    return ret;
}
