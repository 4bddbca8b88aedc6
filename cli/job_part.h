/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts and forms of a job's account that only the command has. */
#ifndef JOBIO_CLI_JOB_PART_H
#define JOBIO_CLI_JOB_PART_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/base/jobid.h"
#include "common/error.h"

struct json_object;

/* From a job document with its steps the same document of one step: the sums over its nodes, from
 * the first of them that began to the last that ended; peaks are those of the busiest node. Its
 * "job" has "step". flags as of report_json(). -ENOENT: the job has no such step. */
int job_step(struct json_object *document, const struct jobid *id, unsigned flags,
             struct json_object **ret, struct error *error);
/* Its name, which report_json_parse() does not know; NULL: the document is of the whole job. */
const char *job_step_name(struct json_object *document);

/* CSV (cli/base/fields.h): the header; and one line a mount and operation of a job document, with
 * its `steps` a line a step and node as well, without the sums of the job. */
void job_csv_header(FILE *out);
int job_csv(struct json_object *document, bool steps, FILE *out, struct error *error);

#endif
