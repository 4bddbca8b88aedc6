/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "report/layout.h"
#include "report/text_impl.h"

/* title, header, mounts, the rest, a note: 9 of the 12 lines */
#define SHORT_MOUNTS 5
#define SHORT_COMPLETENESS 3

/* A job that stays below both gets one line. */
#define SMALL_BYTES (UINT64_C(1) << 20)
#define SMALL_REQUESTS 1000

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

/* Print `who` and `what` with as much of "; complete: 1/1 nodes, 0 events lost" as one line holds,
 * or false. */
static bool fits_one_line(FILE *out, const struct job_account *job, const char *who,
                          const char *what)
{
    static const char cuts[] = ",:";
    size_t width = strlen("I/O") + strlen(who) + strlen(what);
    char end[96];

    snprintf(end, sizeof(end), "; %s: %u/%u nodes, 0 events lost",
             job_is_complete(job) ? "complete" : "NOT complete", job->nodes_reported,
             job->nodes_expected);
    for (const char *c = cuts; *c && width + strlen(end) > TEXT_COLUMNS; c++)
        *strchr(end, *c) = '\0';
    if (width + strlen(end) > TEXT_COLUMNS)
        return false;
    fprintf(out, "I/O%s%s%s\n", who, what, end);
    return true;
}

/* One line for a job that did next to nothing, or false when one line cannot say all of it. */
static bool small_line(FILE *out, const struct text_job *t)
{
    const struct job_account *job = t->job;
    const struct text_row *sum = &t->total;
    double waiting = text_waiting(t, sum->all.time_ns);
    char read[UNITS_SIZE], written[UNITS_SIZE], what[256];
    char who[32] = "", failed[32] = "", waited[32] = "";

    if (sum->all.bytes >= SMALL_BYTES || sum->all.requests >= SMALL_REQUESTS ||
        job->completeness.lost || job->completeness.n || !job->nodes_expected)
        return false;
    if (!job->command)
        snprintf(who, sizeof(who), " of job %u%s", job->key.jobid, job->ended ? "" : " so far");
    if (sum->all.errors)
        snprintf(failed, sizeof(failed), ", %u failed", (unsigned)sum->all.errors);
    if (waiting >= 1)
        snprintf(waited, sizeof(waited), ", %.0f %% waiting", waiting);
    snprintf(what, sizeof(what), ": %s read, %s written, %u calls%s%s",
             units_bytes(sum->reads.bytes, read), units_bytes(sum->writes.bytes, written),
             (unsigned)sum->all.requests, failed, waited);
    return fits_one_line(out, job, who, what) || fits_one_line(out, job, "", what);
}

static void write_short(FILE *out, const struct text_job *t)
{
    if (small_line(out, t))
        return;
    text_title(out, t);
    text_table(out, t, SHORT_MOUNTS);
    text_completeness(out, t->job, SHORT_COMPLETENESS);
}

char *report_text(const struct job_account *job, enum summary summary)
{
    struct text_job t;
    char *text = NULL;
    size_t size;
    bool failed;
    FILE *out;

    if (summary == SUMMARY_OFF)
        return strdup("");
    if (text_job_make(job, &t) < 0)
        return NULL;
    out = open_memstream(&text, &size);
    if (out) {
        if (summary == SUMMARY_FULL)
            text_full(out, &t);
        else
            write_short(out, &t);
        failed = ferror(out);
        if (fclose(out) != 0 || failed) {
            free(text);
            text = NULL;
        }
    }
    text_job_clear(&t);
    return text;
}
