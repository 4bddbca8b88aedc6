/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a job name, a line each. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/units.h"
#include "report/compare/compare.h"
#include "report/layout.h"
#include "report/compare/trend.h"

/* Less waiting than that part of the run time is not compared. */
#define LEAST 0.01

enum column { JOB, START, ELAPSED, READ, WRITTEN, META, WAIT, TIMES_RUN, TIMES_WAIT, COLUMNS };

static const struct {
    const char *name;
    unsigned char width, narrow; /* narrow: on a terminal of 40 columns; 0: not there */
} columns[COLUMNS] = {
    [JOB] = {"JobID", 12, 9}, [START] = {"Start", 17, 0},   [ELAPSED] = {"Elapsed", 11, 10},
    [READ] = {"Read", 7, 0},  [WRITTEN] = {"Write", 7, 0},  [META] = {"Meta", 6, 0},
    [WAIT] = {"Wait", 6, 6},  [TIMES_RUN] = {"xRun", 6, 6}, [TIMES_WAIT] = {"xWait", 6, 6},
};

/* The series of all runs, to compare each with those before. */
struct table {
    FILE *out;
    bool narrow, hidden[COLUMNS];   /* hidden: no run has anything to say there */
    double *elapsed, *wait, *share; /* owned */
};

static size_t width(const struct table *t, enum column c)
{
    return t->hidden[c] ? 0 : t->narrow ? columns[c].narrow : columns[c].width;
}

static void cell(const struct table *t, enum column c, const char *text)
{
    _free_ char *cut = NULL;

    if (!width(t, c))
        return;
    cut = layout_cut(text, c == JOB ? SIZE_MAX : width(t, c) - 1); /* no number is cut */
    layout_right(t->out, cut ? cut : "?", width(t, c));
}

static void start_text(uint64_t ns, char *buf, size_t size)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm tm;

    if (!localtime_r(&seconds, &tm) || !strftime(buf, size, "%F %R", &tm))
        (void)snprintf(buf, size, "?");
}

static const char *short_bytes(double value, char buf[UNITS_SIZE])
{
    return value > 0 ? units_bytes_short((uint64_t)llround(value), buf) : "-";
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

/* What of the run the column is about; 0: nothing is known, or there was nothing. */
static double value_of(const struct table *t, const struct trend_run *run, size_t i, enum column c)
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
        return trend_ratio(t->elapsed, i);
    case TIMES_WAIT:
        return p->wait < LEAST ? 0 : trend_ratio(t->wait, i);
    default:
        return 1;
    }
}

static void hide_empty(struct table *t, const struct trend_run *runs, size_t n)
{
    for (int c = 0; c < COLUMNS; c++) {
        t->hidden[c] = true;
        for (size_t i = 0; i < n; i++)
            t->hidden[c] &= value_of(t, &runs[i], i, (enum column)c) <= 0;
    }
}

static void run_line(const struct table *t, const struct trend_run *run, size_t i)
{
    const struct profile *p = run->profile;
    const struct profile_use *use = p->total;
    char buf[UNITS_SIZE], ratio[COMPARE_RATIO], start[32];

    cell(t, JOB, run->label);
    start_text(run->start_ns, start, sizeof(start));
    cell(t, START, start);
    cell(t, ELAPSED, units_elapsed((uint64_t)llround(p->elapsed_s * 1e9), buf));
    cell(t, READ, short_bytes(use[PROFILE_READ].bytes, buf));
    cell(t, WRITTEN, short_bytes(use[PROFILE_WRITE].bytes, buf));
    cell(t, META,
         use[PROFILE_META].calls > 0
             ? units_count_short((uint64_t)llround(use[PROFILE_META].calls), buf)
             : "-");
    share_text(p->wait, buf);
    cell(t, WAIT, buf);
    cell(t, TIMES_RUN, times_text(value_of(t, run, i, TIMES_RUN), ratio));
    cell(t, TIMES_WAIT, times_text(value_of(t, run, i, TIMES_WAIT), ratio));
    fputc('\n', t->out);
}

/* "waiting   ▁▁▁█  1 % to 31 %" */
static void spark_line(const struct table *t, const char *label, const double *values, size_t n,
                       bool share, bool utf8)
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
    fprintf(t->out, "%-8s  %s  %s to %s\n", label, line ? line : "", from, to);
}

static int table_make(struct table *t, const struct trend_run *runs, size_t n)
{
    t->elapsed = calloc(n + 1, sizeof(double));
    t->wait = calloc(n + 1, sizeof(double));
    t->share = calloc(n + 1, sizeof(double));
    if (!t->elapsed || !t->wait || !t->share)
        return -1;
    for (size_t i = 0; i < n; i++) {
        t->elapsed[i] = runs[i].profile->elapsed_s;
        t->share[i] = runs[i].profile->wait;
        t->wait[i] = profile_seconds(runs[i].profile, runs[i].profile->wait);
    }
    return 0;
}

static void table_clear(struct table *t)
{
    free(t->elapsed);
    free(t->wait);
    free(t->share);
}

static void write_all(const struct table *t, const struct trend_run *runs, size_t n,
                      const struct trend_style *style, const char *sentence)
{
    for (int c = 0; c < COLUMNS; c++)
        cell(t, (enum column)c, columns[c].name);
    fputc('\n', t->out);
    for (size_t i = 0; i < n; i++)
        run_line(t, &runs[i], i);
    /* A line that is wider than the terminal would be no picture. */
    if (n > 1 && n + 32 <= style->columns) {
        spark_line(t, "run time", t->elapsed, n, false, style->utf8);
        spark_line(t, "waiting", t->share, n, true, style->utf8);
    }
    if (!t->hidden[TIMES_RUN])
        layout_wrap(t->out, "xRun, xWait: over the median of the runs before.", style->columns, 0,
                    2);
    layout_wrap(t->out, sentence, style->columns, 0, 6);
}

char *trend_text(const struct trend_run *runs, size_t n, const struct trend_style *style)
{
    struct table t CLEANUP(table_clear) = {.narrow = style->columns < 78};
    _free_ char *sentence = trend_sentence(runs, n);
    char *text = NULL;
    size_t size;

    if (!sentence || table_make(&t, runs, n) < 0)
        return NULL;
    t.out = open_memstream(&text, &size);
    if (!t.out)
        return NULL;
    hide_empty(&t, runs, n);
    write_all(&t, runs, n, style, sentence);
    if (fclose(t.out) == 0)
        return text;
    free(text);
    return NULL;
}
