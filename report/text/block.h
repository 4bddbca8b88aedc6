/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The block requests of a job as a table. */
#ifndef JOBIO_REPORT_TEXT_BLOCK_H
#define JOBIO_REPORT_TEXT_BLOCK_H

#include <stddef.h>

#include "common/job.h"

/* A line for each device and class of requests, at most `columns` wide (0: 80, at least 40); a
 * sentence if there were none, or if they were not counted. Print it after the summary: it starts
 * with an empty line. The full summary has it already if the job has an account. malloc'd, NULL:
 * out of memory. */
char *report_block_text(const struct job_account *job, size_t columns);

#endif
