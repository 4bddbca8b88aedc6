/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether the account is complete, and what is missing. */
#include "report/summary/summary.h"

#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/own_cost.h"
#include "common/text_buffer.h"
#include "common/utf8.h"

/* What a cause means to the owner of the job; the count precedes the words. */
static const struct {
    const char *cause, *words;
    bool bytes;
} causes[] = {
    {"map-full", "calls not counted: counters full", false},
    {"map-full-bytes", "of data not counted: counters full", true},
    {"errno-unknown", "errors of unknown type", false},
    {"latency-lost", "calls without their duration", false},
    {"histogram-short", "calls missing from the histograms", false},
    {"mount-unannounced", "mounts without a name", false},
    {"end-unseen", "calls whose return was not seen", false},
    {"async-lost", "asynchronous calls not counted", false},
    {"async-unseen", "asynchronous calls whose completion was not seen", false},
    {"cache-map-full-bytes", "of the page cache not counted", true},
    {"recursion-missed", "calls missed by the kernel", false},
    {"hook-not-attached", "types of calls not counted", false},
    {"self-test-failed", "operations counted wrongly in the self-test", false},
    {"began-untracked", "steps started before they were counted", false},
    {"step-vanished", "steps disappeared without reporting their end", false},
    {"node-restarted", "steps ended by a restart of the node", false},
    {"still-running", "processes still running", false},
};

char *summary_ops(uint64_t ops)
{
    const char *between = "";
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    for (unsigned bit = 0; bit < IO_SET_BITS; bit++) {
        if (!(ops & UINT64_C(1) << bit))
            continue;
        (void)fprintf(text.out, "%s%s", between, io_bit_name(bit));
        between = ", ";
    }
    return text_buffer_take(&text);
}

static void write_count(FILE *out, const struct incomplete *item)
{
    _free_ char *clean = NULL;
    char buf[UNITS_SIZE];
    size_t i = 0;

    /* The reason is the administrators' concern: jobio status, jobiod's log, and JSON have it. */
    if (!strncmp(item->cause, CAUSE_NOT_COUNTED, strlen(CAUSE_NOT_COUNTED))) {
        (void)fputs(SUMMARY_NOT_COUNTED, out);
        return;
    }
    while (i < ARRAY_SIZE(causes) && strcmp(causes[i].cause, item->cause) != 0)
        i++;
    if (i < ARRAY_SIZE(causes)) {
        (void)fprintf(out, "%s %s",
                      causes[i].bytes ? units_bytes(item->count, buf)
                                      : units_count(item->count, buf),
                      causes[i].words);
        return;
    }
    clean = utf8_sanitize(item->cause);
    (void)fputs(clean ? clean : "?", out);
    if (item->count > 1)
        (void)fprintf(out, " (%s)", units_count(item->count, buf));
}

char *summary_cause(const struct incomplete *item)
{
    _free_ char *ops = item->ops ? summary_ops(item->ops) : NULL;
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    write_count(text.out, item);
    if (ops)
        (void)fprintf(text.out, " (%s)", ops);
    return text_buffer_take(&text);
}

char *summary_completeness(const struct job_account *job)
{
    const struct own_cost cost = own_cost_of(job);
    char buf[UNITS_SIZE], high[UNITS_SIZE];
    struct text_buffer text;

    if (!text_buffer_open(&text))
        return NULL;
    (void)fputs(job_is_complete(job) ? "complete: " : "NOT complete: ", text.out);
    if (job->nodes_expected)
        (void)fprintf(text.out, "%u/%u nodes", job->nodes_reported, job->nodes_expected);
    else
        (void)fprintf(text.out, "%u of an unknown number of nodes", job->nodes_reported);
    (void)fprintf(text.out, ", %s events lost", units_count(job->completeness.lost, buf));
    if (job->ns_per_event)
        (void)fprintf(text.out, ", accounting took about %s to %s", units_time(cost.low_ns, buf),
                      units_time(cost.high_ns, high));
    return text_buffer_take(&text);
}
