/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks of a job array, and the outliers among them. Pure functions. */
#ifndef JOBIO_REPORT_COMPARE_ARRAY_H
#define JOBIO_REPORT_COMPARE_ARRAY_H

#include <stdbool.h>
#include <stdio.h>

#include "common/slurm_state.h"
#include "report/compare/profile.h"

struct json_object;

enum array_measure {
    ARRAY_ELAPSED, /* seconds */
    ARRAY_WAITING, /* of the run time, from 0 to 1 */
    ARRAY_READ,    /* bytes */
    ARRAY_WRITTEN,
    ARRAY_META, /* calls */
    ARRAY_ERRORS,
    ARRAY_MEASURES,
};
/* "elapsed_s", "waiting", "read_bytes", ...: for programs. */
const char *array_measure_name(enum array_measure measure);

struct array_task {
    uint32_t task, jobid;
    bool ended, complete;
    double values[ARRAY_MEASURES];
    enum slurm_state slurm_state;
};

/* sum: for ARRAY_WAITING the waiting of all tasks over their run time. */
struct array_range {
    double sum, min, median, max;
    uint32_t most; /* the task with max */
};

struct array {
    uint32_t jobid;
    const char *name, *user;        /* NULL: not known; untrusted text */
    const struct array_task *tasks; /* by task */
    size_t n;                       /* > 0 */
    const struct profile *sum;      /* mounts of all tasks; its run time is that of all */
    size_t running, incomplete;
    struct array_range ranges[ARRAY_MEASURES];
    /* The mount on which the slowest task waited longest; NULL: not known. */
    const char *worst_mount;
    enum profile_kind worst_kind;
};

/* Fill in running, incomplete and ranges. 0 or -ENOMEM. */
int array_sum_up(struct array *array);

/* The task that waited longest, and the one with the most errors; NULL: none stands out. */
const struct array_task *array_slowest(const struct array *array);
const struct array_task *array_failing(const struct array *array);

/* At most two sentences about these two; "" if none stands out. malloc'd, NULL: out of memory. */
char *array_sentence(const struct array *array);

/* The tables and the sentence; malloc'd, NULL: out of memory. */
char *array_text(const struct array *array, size_t columns);
/* CSV of RFC 4180, a header and a line per task, with the names and units of `jobio history`. */
void array_csv(const struct array *array, FILE *out);
/* The document (json_object_put it); NULL: out of memory. doc/array.schema.json has the fields. */
struct json_object *array_json(const struct array *array);

#endif
