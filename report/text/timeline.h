/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The I/O of a job over time, as curves of block characters. */
#ifndef JOBIO_REPORT_TEXT_TIMELINE_H
#define JOBIO_REPORT_TEXT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/job.h"

/* The curves of a job's mounts over time: rows for bytes read, bytes written and metadata calls of
 * each mount, and one for the threads that waited. Each row is scaled to its peak, which is printed
 * at its end. At most `columns` wide (from 24; 0: 80). Without utf8 in ASCII. Says so if a time
 * line lacks a part. Local time. Print it after the summary and an empty line; malloc'd, NULL: out
 * of memory. */
char *report_timeline_text(const struct job_account *job, size_t columns, bool utf8);

#endif
