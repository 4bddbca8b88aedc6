/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The compact summary that Slurm keeps with the job: IO1:{...} in AdminComment. */
#ifndef JOBIO_REPORT_RECORD_H
#define JOBIO_REPORT_RECORD_H

#include "common/job.h"

#define RECORD_MAX 2048

/* `IO1:{...}` of at most RECORD_MAX bytes, the smallest mounts folded into `rest`; malloc'd, NULL:
 * no memory. The peaks of `rest` are lower bounds: the larger of the mounts' own peaks and the mean
 * of their sum. */
char *report_record(const struct job_account *job);

/* `comment` (may be NULL) with its IO1:{...} replaced by `record`, or with the record appended after
 * a space; everything else stays byte for byte. malloc'd. */
char *record_merge(const char *comment, const char *record);

#endif
