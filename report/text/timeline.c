/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/text/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"
#include "common/text_buffer.h"
#include "report/layout.h"
#include "report/summary/summary.h"

#define COLUMNS 80
#define MAX_MOUNTS 8
#define NARROW 60 /* columns: below, short words */

/* Columns of time, each of some bins of the coarsest time line. There are at most as many as the
 * curve has characters; fewer columns are drawn wider. */
struct axis {
    uint64_t start_s, column_s;
    unsigned n, characters;
    uint64_t from_ns, to_ns; /* of the job */
};

struct page {
    FILE *out;
    const struct job_account *job;
    struct axis axis;
    size_t columns, label, value; /* of the page, in front of the curves, behind them */
    bool narrow, utf8;
};

/* --- the axis --------------------------------------------------------------------------------- */

/* From the start of the job to its end, extended to bins outside of that. */
static void find_span(const struct job_account *job, uint64_t *from_s, uint64_t *to_s,
                      uint64_t *width_s)
{
    uint64_t end_ns = job->start_ns + job->elapsed_ns;

    *from_s = job->start_ns ? job->start_ns / NS_PER_S : UINT64_MAX;
    *to_s = job->start_ns && end_ns > job->start_ns ? (end_ns + NS_PER_S - 1) / NS_PER_S : 0;
    *width_s = 1;
    for (size_t i = 0; i < job->mounts.n; i++) {
        const struct timeline *t = &job->mounts.items[i].timeline;

        if (timeline_is_empty(t))
            continue;
        *from_s = t->start_s < *from_s ? t->start_s : *from_s;
        *to_s = timeline_end_s(t) > *to_s ? timeline_end_s(t) : *to_s;
        *width_s = t->width_s > *width_s ? t->width_s : *width_s;
    }
}

static struct axis axis_make(const struct job_account *job, size_t room)
{
    struct axis axis = {.from_ns = job->start_ns, .to_ns = job->start_ns + job->elapsed_ns};
    uint64_t from, to, width, bins, merge;

    find_span(job, &from, &to, &width);
    axis.start_s = from / width * width;
    bins = to > axis.start_s ? (to - axis.start_s + width - 1) / width : 1;
    merge = (bins + room - 1) / room;
    axis.column_s = merge * width;
    axis.n = (unsigned)((bins + merge - 1) / merge);
    axis.characters = (unsigned)room;
    return axis;
}

/* The seconds of a column in which the job ran; all of it if that is less than half. */
static double column_seconds(const struct axis *axis, unsigned i)
{
    double width = (double)axis->column_s, begin = (double)axis->start_s + i * width;
    double from = (double)axis->from_ns / NS_PER_S, to = (double)axis->to_ns / NS_PER_S, part;

    from = from > begin ? from : begin;
    to = to < begin + width ? to : begin + width;
    part = to - from;
    return part >= width / 2 ? part : width;
}

/* --- curves ----------------------------------------------------------------------------------- */

/* The rate of one kind in each column. Returns the largest. */
static double rates(const struct page *p, const struct io_mounts *mounts, enum timeline_kind kind,
                    double *ret)
{
    const struct axis *axis = &p->axis;
    double peak = 0;

    for (unsigned c = 0; c < axis->n; c++) {
        uint64_t from = axis->start_s + c * axis->column_s, sum = 0;

        for (size_t i = 0; i < mounts->n; i++) {
            struct timeline_bin bin =
                timeline_between(&mounts->items[i].timeline, from, from + axis->column_s);

            add_saturating(&sum, bin.of[kind]);
        }
        ret[c] = (double)sum / column_seconds(axis, c);
        peak = ret[c] > peak ? ret[c] : peak;
    }
    return peak;
}

/* Any value above 0 is drawn at least as the lowest block. */
static void draw(const struct page *p, const double *values, double peak)
{
    static const char *const blocks[][9] = {
        {" ", ".", ":", "-", "=", "+", "*", "#", "@"},
        {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
    };

    for (unsigned i = 0; i < p->axis.characters; i++) {
        double value = values[i * p->axis.n / p->axis.characters];

        fputs(blocks[p->utf8][value > 0 ? 1 + (int)(value / peak * 7.999) : 0], p->out);
    }
}

/* "<0.1", "0.2", "12.3 k"; narrow "12k". */
static void small_number(const struct page *p, double value, char buf[UNITS_SIZE])
{
    if (value < 0.1)
        strcpy(buf, "<0.1");
    else if (value < 9.95)
        (void)snprintf(buf, UNITS_SIZE, "%.1f", value);
    else if (p->narrow)
        units_count_short((uint64_t)(value + 0.5), buf);
    else
        units_count((uint64_t)(value + 0.5), buf);
}

static void peak_text(const struct page *p, enum timeline_kind kind, double peak,
                      char buf[UNITS_SIZE * 2])
{
    if (kind == TIMELINE_WAIT) {
        small_number(p, peak / 1e9, buf);
        strcat(buf, p->narrow ? " thr" : " threads");
    } else if (kind == TIMELINE_META) {
        small_number(p, peak, buf);
        strcat(buf, "/s");
    } else if (p->narrow) {
        strcat(units_bytes_short(peak < 1 ? 1 : (uint64_t)peak, buf), "/s");
    } else {
        units_rate(peak < 1 ? 1 : (uint64_t)peak, buf);
    }
}

static void row(const struct page *p, const struct io_mounts *mounts, enum timeline_kind kind)
{
    static const char *const names[][TIMELINE_KINDS] = {{"read", "written", "metadata", "waiting"},
                                                        {"read", "write", "meta", "wait"}};
    double values[TIMELINE_BINS * 2], peak = rates(p, mounts, kind, values);
    char value[UNITS_SIZE * 2];

    if (peak <= 0)
        return;
    fputs(p->narrow ? " " : "  ", p->out);
    layout_left(p->out, names[p->narrow][kind], p->label - (p->narrow ? 1 : 2));
    draw(p, values, peak);
    peak_text(p, kind, peak, value);
    fprintf(p->out, " %s\n", value);
}

static void write_mount(struct page *p, const struct io_summary *s, const struct summary_row *r,
                        bool alone)
{
    struct io_mounts one = {.items = (struct io_mount *)r->mount, .n = 1};
    _free_ char *name = layout_fit(r->mount->mount, p->columns - 2);
    _free_ char *bursts = summary_bursts(s, r->mount);

    if (timeline_is_empty(&r->mount->timeline))
        return;
    fprintf(p->out, "%s%s\n", name ? name : "?", r->mount->private ? "*" : "");
    for (int kind = 0; kind < TIMELINE_KINDS; kind++)
        if (kind != TIMELINE_WAIT || alone)
            row(p, &one, kind);
    if (!bursts)
        return;
    fputs("  ", p->out);
    layout_wrap(p->out, bursts, p->columns - 2, 4, 6);
}

/* --- the page --------------------------------------------------------------------------------- */

static void clock_text(const struct axis *axis, uint64_t at_s, char buf[32])
{
    bool days = axis->n * axis->column_s >= 86400;
    time_t seconds = (time_t)at_s;
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || !strftime(buf, 32, days ? "%b %d %H:%M" : "%T", &tm))
        strcpy(buf, "?");
}

/* Three times below their columns; the last is aligned with the end of the curves. */
static void write_axis(const struct page *p)
{
    const struct axis *axis = &p->axis;
    unsigned width = axis->characters;
    char texts[3][32];
    size_t length, at = 0;
    bool middle;

    for (unsigned i = 0; i < 3; i++)
        clock_text(axis, axis->start_s + axis->n * axis->column_s * i / 2, texts[i]);
    length = strlen(texts[0]);
    middle = width >= 3 * length + 4;
    layout_left(p->out, "", p->label);
    at = (size_t)fprintf(p->out, "%s", texts[0]);
    if (middle) {
        layout_left(p->out, "", width / 2 - length / 2 - at);
        at = width / 2 - length / 2 + (size_t)fprintf(p->out, "%s", texts[1]);
    }
    if (width >= 2 * length + 2) {
        layout_left(p->out, "", width - length - at);
        fputs(texts[2], p->out);
    }
    fputc('\n', p->out);
}

/* "time line from 2026-11-21T10:00:01 on, ..." */
static void write_title(const struct page *p)
{
    time_t seconds = (time_t)p->axis.start_s;
    char start[32] = "?", column[UNITS_SIZE], text[256];
    struct tm tm;

    if (localtime_r(&seconds, &tm))
        (void)strftime(start, sizeof(start), "%FT%T", &tm);
    if (p->axis.column_s < 120)
        (void)snprintf(column, sizeof(column), "%u s", (unsigned)p->axis.column_s);
    else
        (void)snprintf(column, sizeof(column), "%.3g min", (double)p->axis.column_s / 60);
    (void)snprintf(text, sizeof(text),
                   "time line from %s, in steps of %s; each curve is scaled to its highest step, "
                   "whose mean is shown at its end; metadata: and sync calls",
                   start, column);
    layout_wrap(p->out, text, p->columns, 2, 4);
}

static bool lacks(const struct io_mount *m)
{
    struct timeline_bin sum = timeline_sum(&m->timeline), all = io_account_now(&m->io);

    for (int k = 0; k < TIMELINE_KINDS; k++)
        if (sum.of[k] < all.of[k])
            return true;
    return false;
}

static void write_curves(struct page *p, const struct io_summary *s)
{
    size_t shown = 0, with = 0;

    for (size_t i = 0; i < s->n; i++)
        with += !timeline_is_empty(&s->rows[i].mount->timeline);
    write_title(p);
    for (size_t i = 0; i < s->n && shown < MAX_MOUNTS; i++) {
        write_mount(p, s, &s->rows[i], with == 1);
        shown += !timeline_is_empty(&s->rows[i].mount->timeline);
    }
    if (with > shown)
        fprintf(p->out, "%zu more mounts\n", with - shown);
    if (with > 1) {
        fputs("all mounts\n", p->out);
        row(p, &p->job->mounts, TIMELINE_WAIT);
    }
    write_axis(p);
}

static void write_page(struct page *p, const struct io_summary *s)
{
    bool any = false, lacking = false;

    for (size_t i = 0; i < p->job->mounts.n; i++) {
        any |= !timeline_is_empty(&p->job->mounts.items[i].timeline);
        lacking |= lacks(&p->job->mounts.items[i]);
    }
    fputc('\n', p->out);
    if (any)
        write_curves(p, s);
    if (any && lacking)
        layout_wrap(p->out,
                    "not on the time line: I/O counted by a jobio without time lines, or by a node "
                    "that had too many to send",
                    p->columns, 2, 4);
    else if (!any)
        layout_wrap(p->out,
                    lacking ? "no time line: the job was counted by a jobio without time lines, or "
                              "comes from a history without them (ClickHouse)"
                            : "no time line: the job did no I/O",
                    p->columns, 2, 4);
}

char *report_timeline_text(const struct job_account *job, size_t columns, bool utf8)
{
    struct page p = {.job = job, .columns = columns ? columns : COLUMNS, .utf8 = utf8};
    struct io_summary summary;
    struct text_buffer text;
    char *ret;

    if (p.columns < 24)
        p.columns = 24;
    if (p.columns > TIMELINE_BINS)
        p.columns = TIMELINE_BINS;
    p.narrow = p.columns < NARROW;
    p.label = p.narrow ? 7 : 11;
    p.value = p.narrow ? 10 : 13;
    p.axis = axis_make(job, p.columns - p.label - p.value);
    if (summary_make(job, NULL, &summary) < 0)
        return NULL;
    p.out = text_buffer_open(&text);
    if (p.out)
        write_page(&p, &summary);
    ret = text_buffer_take(&text);
    summary_clear(&summary);
    return ret;
}
