/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code waited: a profile of stacks for people, and for flame graphs. */
#ifndef JOBIO_REPORT_TEXT_STACKS_H
#define JOBIO_REPORT_TEXT_STACKS_H

#include <stdio.h>

#include "common/job.h"
#include "common/stack.h"

/* The stacks with the most time, and what the profile lacks. Print it after the summary: it starts
 * with an empty line. malloc'd, NULL: out of memory. */
char *report_stacks_text(const struct stack_profile *profile);

/* The same of a job, or why it has none. */
char *report_stacks_of_job(const struct job_account *job);
#define STACKS_NOT_RECORDED                                                                     \
    "waiting code: not recorded, or not known yet (sample = yes in [stacks] of jobio.conf, or " \
    "sbatch --io-stacks; each node has that of its own steps when they have ended)"

/* Write "folded" stacks as flamegraph.pl reads them: a line for each stack, with its time in
 * nanoseconds. The lines add up to the time of all long calls. Returns 0 or -errno. */
int report_stacks_folded(const struct stack_profile *profile, FILE *out);

#endif
