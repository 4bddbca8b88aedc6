/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One step of a job, and an account as JSON or CSV. */
#ifndef JOBIO_CLI_JOB_PART_H
#define JOBIO_CLI_JOB_PART_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/base/jobid.h"
#include "common/error.h"
#include "common/job.h"

struct json_object;

/* Reduce a job, which has its steps, to the step id->step: the sums over its nodes, from the start
 * of the first to the end of the last; peaks are those of the busiest node. -ENOENT: the job has no
 * such step. */
int job_keep_step(struct job_account *job, const struct jobid *id, struct error *error);

/* `step` below is the name of that step; NULL: the account is of the whole job. */

/* The document of report_json(); its "job" has "step". NULL: no memory. */
struct json_object *job_json(const struct job_account *job, unsigned flags, const char *step);

/* CSV (cli/base/fields.h): the header, and a line for each mount and operation; with `steps` a line
 * for each step and node as well, and none for the sums of the job. -ENOMEM. */
void job_csv_header(FILE *out);
int job_csv(const struct job_account *job, const char *step, bool steps, FILE *out);

#endif
