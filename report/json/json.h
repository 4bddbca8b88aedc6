/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account as JSON: the interface for programs. doc/json.md has it field by field. */
#ifndef JOBIO_REPORT_JSON_JSON_H
#define JOBIO_REPORT_JSON_JSON_H

#include <stdbool.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

enum {
    REPORT_STEPS = 1 << 0,
    REPORT_NODES = 1 << 1,
    REPORT_WIRE = 1 << 2,     /* also what only another jobiod wants to know */
    REPORT_TIMELINE = 1 << 3, /* at most 8 kB more a mount (of the job, and of each step) */
};

/* The document as a tree of json-c (json_object_put it); NULL: no memory. flags: REPORT_*. */
struct json_object *report_json(const struct job_account *job, unsigned flags);
/* The same with time lines of at most so many bins (at least 1), wider ones if need be. */
struct json_object *report_json_bins(const struct job_account *job, unsigned flags, unsigned bins);
/* The same as text on one line (malloc'd, no newline). */
char *report_json_text(const struct job_account *job, unsigned flags);
/* Read a document back (unknown fields are ignored). -EBADMSG with text. */
int report_json_parse(struct json_object *document, struct job_account **ret, struct error *error);

#endif
