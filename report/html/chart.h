/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Charts as inline SVG with HTML text around it: the text keeps its size on every screen, and the
 * drawing takes the available width. */
#ifndef JOBIO_REPORT_HTML_CHART_H
#define JOBIO_REPORT_HTML_CHART_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/units.h"

/* The time that all charts of a page share, in bins of equal width. */
struct chart_time {
    uint64_t from_s;  /* where the first bin begins, seconds since 1970 */
    uint64_t zero_s;  /* the start of the job */
    uint64_t width_s; /* of a bin */
    size_t n;
};

struct chart_part {
    const char *name;     /* untrusted */
    const char *colour;   /* a class */
    const double *values; /* one a bin */
};

struct chart {
    const char *title;
    /* A value with its unit. Returns buf. */
    char *(*show)(double value, char buf[UNITS_SIZE]);
    double base;                    /* of the ticks' units: 1024 or 1000 */
    const struct chart_part *parts; /* from the bottom */
    size_t n_parts;
};

/* A stacked area chart over time. */
void chart_stack(FILE *out, const struct chart *chart, const struct chart_time *time);

struct chart_row {
    const char *name; /* untrusted */
    const double *values;
};

/* A heat map over time: the larger a value, the darker its cell; `show` as above. */
void chart_heat(FILE *out, const struct chart *chart, const struct chart_row *rows, size_t n_rows,
                const struct chart_time *time);

/* The smallest tick so that at most `most` of them reach `largest`; `base` as above. */
double chart_tick(double largest, double base, unsigned most);
/* The seconds between ticks on a time axis of this length, at most `most` of them, and the text of
 * a tick. */
uint64_t chart_time_tick(uint64_t seconds, unsigned most);
char *chart_time_text(uint64_t seconds, uint64_t tick, char buf[UNITS_SIZE]);

#endif
