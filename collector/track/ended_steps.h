/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sums of a job's ended steps, for the summary at its end. Their rows are in the store by then,
 * and the summary must not wait for a disk.
 */
#ifndef JOBIO_COLLECTOR_TRACK_ENDED_STEPS_H
#define JOBIO_COLLECTOR_TRACK_ENDED_STEPS_H

#include "common/job.h"

/* All 0: empty. */
struct ended_steps {
    struct step_account *items; /* owned; each has one mount without a name */
    size_t n;
};

/* Keep the sum of a step. Best effort: beyond a limit, or without memory, it is left out. */
void ended_steps_add(struct ended_steps *ended, const struct step_account *account);
void ended_steps_clear(struct ended_steps *ended);
/* Add these steps to those of the account and sort all by the time of their tags. 0 or -ENOMEM. */
int ended_steps_list(const struct ended_steps *ended, struct job_account *account);

#endif
