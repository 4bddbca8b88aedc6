/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the runs of a job name went on: medians and their deviations, so that one odd run says
 * nothing. Pure functions.
 */
#ifndef JOBIO_REPORT_COMPARE_TREND_H
#define JOBIO_REPORT_COMPARE_TREND_H

#include <stdbool.h>

#include "report/compare/profile.h"

struct json_object;
struct tree;

#define TREND_LEAST 5 /* with fewer runs nothing is said of a trend */

struct trend_run {
    const char *label; /* "123", "120_3" */
    uint64_t start_ns;
    const struct profile *profile;
};

/* Where the last values differ from those before, and from when on. */
struct trend_change {
    size_t last;          /* how many; 0: no change */
    double before, after; /* medians */
};
/* The most last values that all lie on one side of the median before, by more than three times the
 * usual deviation, a quarter of that median, and `least`. At least four stand before them. */
struct trend_change trend_find(const double *values, size_t n, double least);

/* The value over the median of those before it; 0: fewer than four of them, or they were
 * nothing. */
double trend_ratio(const double *values, size_t i);

/* A character a value, from the smallest to the largest (from 0 to it for `from_zero`): block
 * characters, or ASCII. malloc'd, NULL: no memory. */
char *trend_sparkline(const double *values, size_t n, bool from_zero, bool utf8);

/* "The last 3 runs waited 4.0x longer for I/O than the 17 before, mostly metadata on /home."
 * malloc'd, NULL: no memory. */
char *trend_sentence(const struct trend_run *runs, size_t n);

struct trend_style {
    size_t columns;
    bool utf8;
};
/* A line a run, the sparklines, the sentence; malloc'd, NULL: no memory. The oldest comes first. */
char *trend_text(const struct trend_run *runs, size_t n, const struct trend_style *style);

/* The numbers of a run into its object: "elapsed_ratio", "wait_ratio". */
void trend_json(const struct trend_run *runs, size_t n, size_t i, struct tree *tree,
                struct json_object *to);

#endif
