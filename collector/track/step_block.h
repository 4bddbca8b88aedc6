/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests to disks of steps, if this node counts them, and their accounts. */
#ifndef JOBIO_COLLECTOR_TRACK_STEP_BLOCK_H
#define JOBIO_COLLECTOR_TRACK_STEP_BLOCK_H

#include "collector/track/step.h"

struct tracker;

/* Load the programs. If that fails, nothing is counted: tracker->block_failure has the reason. */
void steps_block_create(struct tracker *tracker);

/* Count the requests of a step. late: its programs may already run. 0 or -ENOMEM. */
int step_block_start(struct step *step, bool late);
/* The same for a step that was tagged under an earlier jobiod; `before` is its last account, or
 * NULL. It is continued if the counters of that jobiod are not there. 0 or -ENOMEM. */
int step_block_adopt(struct step *step, const struct block_account *before);
/* The step has disappeared, so it may have requested more. 0 or -ENOMEM. */
int step_block_vanish(struct step *step);
/* Read the account so far into *ret, which the caller owns; NULL: not counted. 0 or -ENOMEM. */
int step_block_read(const struct step *step, struct block_account **ret);
/* Its last account was read. */
void step_block_end(struct step *step);
/* Its account is stored: remove the counters. */
void step_block_forget(const struct step *step);

/* Every interval: remove the counters of cgroups that are not a step of a job. */
void steps_block_sweep(struct tracker *tracker);

#endif
