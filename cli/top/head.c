/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines above the table: the node, its jobs, and how complete it is. */
#define _GNU_SOURCE
#include "cli/top/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/layout.h"

#define TEXT_MAX 256

/* Writes pieces of a line as long as they fit. */
struct head {
    const struct top_paper *paper;
    unsigned used;
};

static void head_add(struct head *head, enum top_style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void head_add(struct head *head, enum top_style style, const char *format, ...)
{
    _free_ char *clean = NULL;
    char text[TEXT_MAX];
    size_t width;
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    clean = utf8_sanitize(text);
    width = clean ? layout_width(clean) : 0;
    if (!clean || head->used + width > head->paper->columns)
        return;
    head->paper->put(head->paper->arg, style, clean);
    head->used += (unsigned)width;
}

static void head_end(struct head *head)
{
    head->paper->end(head->paper->arg);
    head->used = 0;
}

static size_t count_jobs(const struct top_frame *frame, size_t *busy, size_t *steps)
{
    struct top_rows jobs = {0};
    size_t n = 0;

    *steps = *busy = 0;
    for (size_t i = 0; i < frame->now->n; i++) {
        n += frame->now->all[i].kind == TOP_JOB;
        *steps += frame->now->all[i].kind == TOP_JOB ? frame->now->all[i].steps : 0;
    }
    if (top_group(&frame->rows, TOP_BY_JOB, NULL, &jobs) < 0)
        return n;
    for (size_t i = 0; i < jobs.n; i++)
        *busy += jobs.items[i].who && jobs.items[i].who->kind == TOP_JOB &&
                 !top_is_idle(&jobs.items[i].sums);
    top_rows_clear(&jobs);
    return n;
}

static void put_cost(struct head *head, const struct top_frame *frame)
{
    const struct top_sums sum = top_sum(&frame->rows);
    uint64_t interval = frame->rows.interval_ns;
    char text[UNITS_SIZE];

    if (!interval || !frame->now->ns_per_event)
        return;
    head_add(head, TOP_STYLE_PLAIN, "; counting costs at least %s of a CPU",
             units_percent(sum.events * frame->now->ns_per_event, interval, text));
}

void top_draw_head(const struct top_paper *paper, const struct top_frame *frame)
{
    const struct top_reading *now = frame->now;
    struct head head = {.paper = paper};
    time_t seconds = (time_t)(now->time_ns / NS_PER_S);
    size_t busy, steps, jobs = count_jobs(frame, &busy, &steps);
    char date[32] = "", count[UNITS_SIZE];
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        (void)strftime(date, sizeof(date), "%H:%M:%S", &tm);
    head_add(&head, TOP_STYLE_TITLE, "%.64s", now->node);
    head_add(&head, TOP_STYLE_TITLE, "  %s", date);
    head_add(&head, TOP_STYLE_PLAIN, "  over %.1f s", (double)frame->rows.interval_ns / NS_PER_S);
    head_add(&head, TOP_STYLE_PLAIN, "  %zu%s job%s", jobs, now->hidden ? " own" : "",
             jobs == 1 ? "" : "s");
    head_add(&head, TOP_STYLE_PLAIN, ", %zu with I/O", busy);
    head_add(&head, TOP_STYLE_PLAIN, ", %zu step%s", steps, steps == 1 ? "" : "s");
    if (now->hidden)
        head_add(&head, TOP_STYLE_PLAIN, "; %u of others", now->hidden);
    head_end(&head);
    if (now->not_counted)
        head_add(&head, TOP_STYLE_BAD, "NOT COUNTED: %s", now->not_counted);
    else if (frame->lost)
        head_add(&head, TOP_STYLE_BAD, "INCOMPLETE: %s events lost",
                 units_count(frame->lost, count));
    else
        head_add(&head, TOP_STYLE_PLAIN, "complete: 0 events lost");
    put_cost(&head, frame);
    head_end(&head);
}
