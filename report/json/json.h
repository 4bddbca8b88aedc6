/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account as JSON, the interface for programs. doc/json.md describes every field. */
#ifndef JOBIO_REPORT_JSON_JSON_H
#define JOBIO_REPORT_JSON_JSON_H

#include <stdbool.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

enum {
    REPORT_STEPS = 1 << 0,
    REPORT_NODES = 1 << 1,
    REPORT_WIRE = 1 << 2,     /* add what only another jobiod needs */
    REPORT_TIMELINE = 1 << 3, /* adds up to 8 kB per mount, of the job and of each step */
    REPORT_STACKS = 1 << 4,   /* adds up to some 100 kB, of the job and of each step */
};

/* Returns a document to release with json_object_put(); NULL on out-of-memory. flags: REPORT_*. */
struct json_object *report_json(const struct job_account *job, unsigned flags);
/* The same with time lines of at most `bins` bins (>= 1), which are widened if necessary. */
struct json_object *report_json_bins(const struct job_account *job, unsigned flags, unsigned bins);
/* The same as one line of text: malloc'd, without a newline. */
char *report_json_text(const struct job_account *job, unsigned flags);
/* Read a document; unknown fields are ignored. -EBADMSG with text, -ENOMEM. */
int report_json_parse(struct json_object *document, struct job_account **ret, struct error *error);

#endif
