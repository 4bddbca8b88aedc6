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

/* Reduce a job to the step id->step (the job must have its steps): the sums over its nodes, from
 * the first start to the last end; peaks are those of the busiest node. -ENOENT: the job has no
 * such step. */
int job_keep_step(struct job_account *job, const struct jobid *id, struct error *error);

/* `step` below is the name of that step; NULL: the account is of the whole job. */

/* The document of report_json(); its "job" has "step". NULL: out of memory. */
struct json_object *job_json(const struct job_account *job, unsigned flags, const char *step);

/* CSV (cli/base/fields.h): the header, and a line for each mount and operation; with `steps` a line
 * for each step and node instead of the sums of the job. 0 or -ENOMEM. */
void job_csv_header(FILE *out);
int job_csv(const struct job_account *job, const char *step, bool steps, FILE *out);

#endif
