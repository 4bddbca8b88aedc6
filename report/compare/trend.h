/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trends over the runs of a job name. Uses medians and their deviations, so that a single outlier
 * has no effect. Pure functions.
 */
#ifndef JOBIO_REPORT_COMPARE_TREND_H
#define JOBIO_REPORT_COMPARE_TREND_H

#include <stdbool.h>

#include "report/compare/profile.h"

struct json_object;
struct tree;

#define TREND_LEAST 5 /* fewer runs have no trend */

struct trend_run {
    const char *label; /* "123", "120_3" */
    uint64_t start_ns;
    const struct profile *profile;
};

/* A change: the last values differ from those before. */
struct trend_change {
    size_t last;          /* how many; 0: no change */
    double before, after; /* medians */
};
/* The longest run of last values that all lie on one side of the median of those before, by more
 * than three times the usual deviation, a quarter of that median, and `least`. At least four values
 * must precede them. */
struct trend_change trend_find(const double *values, size_t n, double least);

/* Value i over the median of the values before it; 0: fewer than four of them, or their median is
 * 0. */
double trend_ratio(const double *values, size_t i);

/* One character per value, scaled from the smallest (0 if `from_zero`) to the largest: block
 * characters, or ASCII. malloc'd, NULL: out of memory. */
char *trend_sparkline(const double *values, size_t n, bool from_zero, bool utf8);

/* "The last 3 runs waited 4.0x longer for I/O than the 17 before, mostly metadata on /home."
 * malloc'd, NULL: out of memory. */
char *trend_sentence(const struct trend_run *runs, size_t n);

struct trend_style {
    size_t columns;
    bool utf8;
};
/* One line per run, the sparklines, the sentence; malloc'd, NULL: out of memory. The oldest comes
 * first. */
char *trend_text(const struct trend_run *runs, size_t n, const struct trend_style *style);

/* Add the ratios of a run to its object: "elapsed_ratio", "wait_ratio". */
void trend_json(const struct trend_run *runs, size_t n, size_t i, struct tree *tree,
                struct json_object *to);

#endif
