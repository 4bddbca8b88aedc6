/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The summary as people read it: at the end of slurm-%j.out, of `jobio job` and `jobio run`. */
#ifndef JOBIO_REPORT_TEXT_TEXT_H
#define JOBIO_REPORT_TEXT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "common/job.h"

struct advice_notes;

enum summary { SUMMARY_OFF, SUMMARY_SHORT, SUMMARY_FULL };

/* "off", "short", "full"; -EINVAL for another word. */
int summary_parse(const char *text);
const char *summary_name(enum summary summary);

struct text_style {
    const struct advice_notes *notes; /* NULL: none */
    bool colour;                      /* for a terminal that has colours */
    size_t columns;                   /* 0: 80 */
};

/* The text, ending in a newline, malloc'd; NULL: out of memory. short: at most 12 lines of 80
 * columns. Control characters and invalid UTF-8 of untrusted text are replaced. style NULL: plain.
 */
char *report_text(const struct job_account *job, enum summary summary,
                  const struct text_style *style);

/* The tables of a job's nodes, and of its steps on each node; malloc'd, NULL: out of memory.
 * columns: 0: 80. The job must have its steps. */
char *report_nodes_text(const struct job_account *job, size_t columns);
char *report_steps_text(const struct job_account *job, size_t columns);

#endif
