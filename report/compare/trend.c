/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/compare/trend.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/text_buffer.h"
#include "common/tree.h"
#include "common/units.h"
#include "common/utf8.h"
#include "report/compare/compare.h"

#define BEFORE_LEAST 4
/* A median absolute deviation times this is the standard deviation of a normal distribution. */
#define MAD_TO_SIGMA 1.4826

/* --- statistics ------------------------------------------------------------------------------- */

static double median_of(const double *values, size_t n)
{
    _free_ double *copy = malloc((n + 1) * sizeof(*copy));

    if (!copy)
        return 0;
    memcpy(copy, values, n * sizeof(*copy));
    return profile_middle(copy, n);
}

static double deviation_of(const double *values, size_t n, double median)
{
    _free_ double *copy = malloc((n + 1) * sizeof(*copy));

    for (size_t i = 0; copy && i < n; i++)
        copy[i] = fabs(values[i] - median);
    return copy ? MAD_TO_SIGMA * profile_middle(copy, n) : 0;
}

static bool all_beyond(const double *values, size_t n, double median, double limit)
{
    size_t above = 0, below = 0;

    for (size_t i = 0; i < n; i++) {
        above += values[i] > median + limit;
        below += values[i] < median - limit;
    }
    return above == n || below == n;
}

struct trend_change trend_find(const double *values, size_t n, double least)
{
    for (size_t last = n > BEFORE_LEAST ? n - BEFORE_LEAST : 0; last > 0; last--) {
        size_t before = n - last;
        double median = median_of(values, before);
        double limit = fmax(least, fmax(median / 4, 3 * deviation_of(values, before, median)));

        /* Not more values than before them: otherwise it is unclear which ones are the
         * exception. */
        if (last <= before && all_beyond(values + before, last, median, limit))
            return (struct trend_change){last, median, median_of(values + before, last)};
    }
    return (struct trend_change){0, 0, 0};
}

double trend_ratio(const double *values, size_t i)
{
    double median = i >= BEFORE_LEAST ? median_of(values, i) : 0;

    return median > 0 ? values[i] / median : 0;
}

char *trend_sparkline(const double *values, size_t n, bool from_zero, bool utf8)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const ascii[] = {"_", ".", "-", ":", "=", "+", "*", "#"};
    const char *const *levels = utf8 ? blocks : ascii;
    double low = from_zero || !n ? 0 : values[0], high = low;
    char *text = calloc(n + 1, 4);

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    for (size_t i = 0; text && i < n; i++) {
        double part = high > low ? (values[i] - low) / (high - low) : 0;

        strcat(text, levels[part >= 1 ? 7 : (int)(part * 8)]);
    }
    return text;
}

/* --- in words --------------------------------------------------------------------------------- */

/* The values of a run that are compared. */
enum series { SERIES_ELAPSED, SERIES_WAIT, SERIES };

static double value_of(const struct trend_run *run, enum series series)
{
    const struct profile *p = run->profile;

    return series == SERIES_WAIT ? profile_seconds(p, p->wait) : p->elapsed_s;
}

static double *series_make(const struct trend_run *runs, size_t n, enum series series)
{
    double *values = calloc(n + 1, sizeof(*values));

    for (size_t i = 0; values && i < n; i++)
        values[i] = value_of(&runs[i], series);
    return values;
}

static int median_of_runs(const struct trend_run *runs, size_t n, struct profile *ret)
{
    _free_ struct profile *profiles = calloc(n, sizeof(*profiles));

    for (size_t i = 0; profiles && i < n; i++)
        profiles[i] = *runs[i].profile;
    return profiles ? profile_median(profiles, n, ret) : -ENOMEM;
}

/* ", mostly metadata on /home" */
static void write_place(FILE *out, const struct trend_run *runs, size_t n, size_t last)
{
    CLEANUP(profile_clear) struct profile before = {0};
    CLEANUP(profile_clear) struct profile after = {0};
    enum profile_kind kind;
    const char *mount;

    if (median_of_runs(runs, n - last, &before) < 0 ||
        median_of_runs(runs + n - last, last, &after) < 0 ||
        !compare_most(&before, &after, &mount, &kind))
        return;
    {
        _free_ char *name = utf8_sanitize(mount);

        fprintf(out, ", mostly %s %s", profile_kind_words(kind), name ? name : "?");
    }
}

static void write_who(FILE *out, size_t last)
{
    if (last == 1)
        fputs("The last run", out);
    else
        fprintf(out, "The last %zu runs", last);
}

/* "4.0x longer for I/O than the 17 before" */
static void write_ratio(FILE *out, const struct trend_change *c, const char *longer,
                        const char *shorter)
{
    bool more = c->after > c->before;
    double ratio = more ? c->after / c->before : c->before / c->after;
    char buf[COMPARE_RATIO];

    fprintf(out, " %s %s", isfinite(ratio) ? compare_ratio(ratio, buf) : "much",
            more ? longer : shorter);
}

static void write_steady(FILE *out, size_t n, double elapsed, double wait)
{
    char time[UNITS_SIZE], waited[UNITS_SIZE];

    fprintf(out, "No change in %zu runs: typically %s, %s of it waiting for I/O.", n,
            units_elapsed((uint64_t)llround(elapsed * 1e9), time),
            units_percent((uint64_t)llround(wait * 1e6), (uint64_t)llround(elapsed * 1e6), waited));
}

static void write_sentence(FILE *out, const struct trend_run *runs, size_t n, const double *elapsed,
                           const double *wait)
{
    double usual = median_of(elapsed, n);
    /* Changes below 5 % of the run time are ignored. */
    struct trend_change waited = trend_find(wait, n, fmax(1, usual / 20)),
                        ran = trend_find(elapsed, n, 1);

    if (!waited.last && !ran.last) {
        write_steady(out, n, usual, median_of(wait, n));
        return;
    }
    write_who(out, waited.last ? waited.last : ran.last);
    if (waited.last) {
        fputs(" waited", out);
        write_ratio(out, &waited, "longer for I/O", "less for I/O");
        fprintf(out, " than the %zu before", n - waited.last);
        write_place(out, runs, n, waited.last);
        if (ran.last == waited.last) {
            fputs(", and ran", out);
            write_ratio(out, &ran, "longer", "shorter");
        }
    } else {
        fputs(" ran", out);
        write_ratio(out, &ran, "longer", "shorter");
        fprintf(out, " than the %zu before; I/O is not the cause", n - ran.last);
    }
    fputc('.', out);
}

char *trend_sentence(const struct trend_run *runs, size_t n)
{
    _free_ double *elapsed = series_make(runs, n, SERIES_ELAPSED),
                  *wait = series_make(runs, n, SERIES_WAIT);
    struct text_buffer text;
    FILE *out = elapsed && wait ? text_buffer_open(&text) : NULL;

    if (!out)
        return NULL;
    if (n < TREND_LEAST)
        fprintf(out, "%zu run%s: a trend needs at least %d.", n, n == 1 ? "" : "s", TREND_LEAST);
    else
        write_sentence(out, runs, n, elapsed, wait);
    return text_buffer_take(&text);
}

/* --- for programs ----------------------------------------------------------------------------- */

void trend_json(const struct trend_run *runs, size_t n, size_t i, struct tree *tree,
                struct json_object *to)
{
    static const char *const keys[] = {
        [SERIES_ELAPSED] = "elapsed_ratio", [SERIES_WAIT] = "wait_ratio"};

    for (int s = 0; s < SERIES; s++) {
        _free_ double *values = series_make(runs, n, (enum series)s);
        double ratio = values ? trend_ratio(values, i) : 0;

        tree->failed |= !values;
        if (ratio > 0)
            tree_put_number(tree, to, keys[s], ratio, 3);
    }
}
