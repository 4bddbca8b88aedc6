/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two jobs side by side, or a job and the usual run of its kind. Pure functions. */
#ifndef JOBIO_REPORT_COMPARE_COMPARE_H
#define JOBIO_REPORT_COMPARE_COMPARE_H

#include "report/compare/profile.h"

struct json_object;

struct compare_side {
    const struct profile *profile;
    const char *head;  /* of the column: "123", "median of 17" */
    const char *words; /* in a sentence: "job 123", "the usual run" */
};

/* The difference in one or two sentences: what cost the time, and the run time. malloc'd;
 * NULL: out of memory. Safe on a terminal. */
char *compare_sentence(const struct compare_side *a, const struct compare_side *b);

/* Find the mount and the kind of calls whose waiting differs most, in seconds. False: neither side
 * has a mount. */
bool compare_most(const struct profile *a, const struct profile *b, const char **mount,
                  enum profile_kind *kind);

/* "12x", "1.4x", ">999x". */
#define COMPARE_RATIO 8
char *compare_ratio(double ratio, char buf[COMPARE_RATIO]);

/* How b compares with a: "12x more", "16x less", "same", "new" (a is 0), "gone" (b is 0). */
#define COMPARE_CHANGE 16
char *compare_change(double a, double b, char buf[COMPARE_CHANGE]);

/* The table for a terminal of that width, then the sentence; malloc'd, NULL: out
 * of memory. */
char *compare_text(const struct compare_side *a, const struct compare_side *b, size_t columns);

/* "runs", "elapsed_s", "waiting", "mounts", ... as an object (json_object_put it); NULL: out
 * of memory. doc/compare.schema.json has the fields. */
struct json_object *profile_json(const struct profile *p);

#endif
