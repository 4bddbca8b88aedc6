/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_CLI_SOURCE_PARTS_H
#define JOBIO_CLI_SOURCE_PARTS_H

#include "common/job.h"

/* Free what was not requested (SOURCE_STEPS, SOURCE_TIMELINES,
 * SOURCE_STACKS): reports show all that an account
 * has. */
void job_drop_parts(struct job_account *job, unsigned parts);

#endif
