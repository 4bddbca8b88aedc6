/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account as JSON: the interface for programs. doc/json.md has it field by field. */
#ifndef JOBIO_REPORT_JSON_H
#define JOBIO_REPORT_JSON_H

#include <stdbool.h>

#include "common/error.h"
#include "common/job.h"

struct json_object;

/* WIRE: also what only another jobiod wants to know. */
enum { REPORT_STEPS = 1 << 0, REPORT_NODES = 1 << 1, REPORT_WIRE = 1 << 2 };

/* The document as a tree of json-c (json_object_put it); NULL: no memory. flags: REPORT_*. */
struct json_object *report_json(const struct job_account *job, unsigned flags);
/* The same as text on one line (malloc'd, no newline). */
char *report_json_text(const struct job_account *job, unsigned flags);
/* Read a document back (unknown fields are ignored). -EBADMSG with text. */
int report_json_parse(struct json_object *document, struct job_account **ret, struct error *error);

#endif
