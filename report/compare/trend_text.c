/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of the runs of a job name. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/clock.h"
#include "common/units.h"
#include "report/compare/compare.h"
#include "report/layout.h"
#include "report/compare/trend.h"
#include "report/table.h"

/* The least share of waiting that is compared. */
#define LEAST 0.01

enum column { JOB, START, ELAPSED, READ, WRITTEN, META, WAIT, TIMES_RUN, TIMES_WAIT, COLUMNS };

/* A job's number is never cut. */
static const struct table_column wide[COLUMNS] = {
    [JOB] = {"JobID", 12, 0, false, 0},        [START] = {"Start", 17, 0, false, 16},
    [ELAPSED] = {"Elapsed", 11, 0, false, 10}, [READ] = {"Read", 7, 0, false, 6},
    [WRITTEN] = {"Write", 7, 0, false, 6},     [META] = {"Meta", 6, 0, false, 5},
    [WAIT] = {"Wait", 6, 0, false, 5},         [TIMES_RUN] = {"xRun", 6, 0, false, 5},
    [TIMES_WAIT] = {"xWait", 6, 0, false, 5},
};
/* For a terminal of 40 columns. */
static const struct table_column narrow[COLUMNS] = {
    [JOB] = {"JobID", 9, 0, false, 0},        [ELAPSED] = {"Elapsed", 10, 0, false, 9},
    [WAIT] = {"Wait", 6, 0, false, 5},        [TIMES_RUN] = {"xRun", 6, 0, false, 5},
    [TIMES_WAIT] = {"xWait", 6, 0, false, 5},
};

/* The series of all runs, to compare each with those before. */
struct series {
    double *elapsed, *wait, *share; /* owned */
};

static void start_text(uint64_t ns, char *buf, size_t size)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || !strftime(buf, size, "%F %R", &tm))
        (void)snprintf(buf, size, "?");
}

static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)llround(value) : 0;
}

static void share_text(double part, char buf[UNITS_SIZE])
{
    if (part <= 0)
        (void)snprintf(buf, UNITS_SIZE, "-");
    else if (part < 0.01)
        (void)snprintf(buf, UNITS_SIZE, "<1%%");
    else
        (void)snprintf(buf, UNITS_SIZE, "%.0f%%", 100 * part);
}

static const char *times_text(double ratio, char buf[COMPARE_RATIO])
{
    return ratio > 0 ? compare_ratio(ratio, buf) : "-";
}

/* The value of a column that is hidden if it is 0 in all runs; unknown values are 0, too. */
static double value_of(const struct series *all, const struct trend_run *run, size_t i,
                       enum column c)
{
    const struct profile *p = run->profile;

    switch (c) {
    case READ:
        return p->total[PROFILE_READ].bytes;
    case WRITTEN:
        return p->total[PROFILE_WRITE].bytes;
    case META:
        return p->total[PROFILE_META].calls;
    case TIMES_RUN:
        return trend_ratio(all->elapsed, i);
    case TIMES_WAIT:
        return p->wait < LEAST ? 0 : trend_ratio(all->wait, i);
    default:
        return 1;
    }
}

static void hide_empty(struct table *t, const struct series *all, const struct trend_run *runs,
                       size_t n)
{
    for (int c = 0; c < COLUMNS; c++) {
        bool any = false;

        for (size_t i = 0; i < n; i++)
            any |= value_of(all, &runs[i], i, (enum column)c) > 0;
        if (!any)
            t->columns[c].width = 0;
    }
}

static void run_line(struct table *t, const struct series *all, const struct trend_run *run,
                     size_t i)
{
    const struct profile *p = run->profile;
    const struct profile_use *use = p->total;
    char buf[UNITS_SIZE], ratio[COMPARE_RATIO], start[32];

    table_cell(t, run->label);
    start_text(run->start_ns, start, sizeof(start));
    table_cell(t, start);
    table_cell(t, units_elapsed((uint64_t)llround(p->elapsed_s * 1e9), buf));
    table_bytes(t, whole(use[PROFILE_READ].bytes));
    table_bytes(t, whole(use[PROFILE_WRITE].bytes));
    table_count(t, whole(use[PROFILE_META].calls));
    share_text(p->wait, buf);
    table_cell(t, buf);
    table_cell(t, times_text(value_of(all, run, i, TIMES_RUN), ratio));
    table_cell(t, times_text(value_of(all, run, i, TIMES_WAIT), ratio));
    table_end(t);
}

/* "waiting   ▁▁▁█  1 % to 31 %" */
static void spark_line(FILE *out, const char *label, const double *values, size_t n, bool share,
                       bool utf8)
{
    _free_ char *line = trend_sparkline(values, n, true, utf8);
    double low = values[0], high = values[0];
    char from[UNITS_SIZE], to[UNITS_SIZE];

    for (size_t i = 1; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    if (share) {
        units_percent((uint64_t)llround(low * 1e6), 1000000, from);
        units_percent((uint64_t)llround(high * 1e6), 1000000, to);
    } else {
        units_elapsed((uint64_t)llround(low * 1e9), from);
        units_elapsed((uint64_t)llround(high * 1e9), to);
    }
    fprintf(out, "%-8s  %s  %s to %s\n", label, line ? line : "", from, to);
}

static int series_make(struct series *all, const struct trend_run *runs, size_t n)
{
    all->elapsed = calloc(n + 1, sizeof(double));
    all->wait = calloc(n + 1, sizeof(double));
    all->share = calloc(n + 1, sizeof(double));
    if (!all->elapsed || !all->wait || !all->share)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        all->elapsed[i] = runs[i].profile->elapsed_s;
        all->share[i] = runs[i].profile->wait;
        all->wait[i] = profile_seconds(runs[i].profile, runs[i].profile->wait);
    }
    return 0;
}

static void series_clear(struct series *all)
{
    free(all->elapsed);
    free(all->wait);
    free(all->share);
}

static void write_all(FILE *out, const struct series *all, const struct trend_run *runs, size_t n,
                      const struct trend_style *style)
{
    struct table t = table_make(out, style->columns < 78 ? narrow : wide, COLUMNS, style->columns);

    t.brief = true;
    hide_empty(&t, all, runs, n);
    table_titles(&t);
    for (size_t i = 0; i < n; i++)
        run_line(&t, all, &runs[i], i);
    /* A picture that is wider than the terminal would be broken. */
    if (n > 1 && n + 32 <= style->columns) {
        spark_line(out, "run time", all->elapsed, n, false, style->utf8);
        spark_line(out, "waiting", all->share, n, true, style->utf8);
    }
    if (t.columns[TIMES_RUN].width)
        layout_wrap(out, "xRun, xWait: over the median of the runs before.", style->columns, 0, 2);
}

char *trend_text(const struct trend_run *runs, size_t n, const struct trend_style *style)
{
    struct series all CLEANUP(series_clear) = {NULL, NULL, NULL};
    _free_ char *sentence = trend_sentence(runs, n);
    struct text_buffer text;
    FILE *out;

    if (!sentence || series_make(&all, runs, n) < 0)
        return NULL;
    out = text_buffer_open(&text);
    if (!out)
        return NULL;
    write_all(out, &all, runs, n, style);
    layout_wrap(out, sentence, style->columns, 0, 6);
    return text_buffer_take(&text);
}
