/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O of a job over time, as curves of block characters. */
#ifndef JOBIO_REPORT_TEXT_TIMELINE_H
#define JOBIO_REPORT_TEXT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/job.h"

/* The curves of a job's mounts over its time: a row for what was read, written and asked of
 * metadata on each, as high as its own peak, which stands at its end, and one for the threads that
 * waited. At most `columns` wide (from 24; 0: 80). Without utf8 in ASCII. A time line that lacks a
 * part says so. Local time. To follow the summary, behind an empty line; malloc'd, NULL: out
 * of memory. */
char *report_timeline_text(const struct job_account *job, size_t columns, bool utf8);

#endif
