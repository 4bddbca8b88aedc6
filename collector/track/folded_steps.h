/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The steps of a job beyond TRACKER_STEPS_PER_JOB are aggregated into one row. A crash between
 * the commit of that row and the removal of such a step's file must not add the step twice: a mark
 * for each step is committed with the row, and removed after the step's counters are gone.
 */
#ifndef JOBIO_COLLECTOR_TRACK_FOLDED_STEPS_H
#define JOBIO_COLLECTOR_TRACK_FOLDED_STEPS_H

#include "collector/track/step.h"
#include "common/job.h"

struct store;

#define FOLDED_KEY_SIZE 96

struct folded_marks {
    struct folded_marks *next;
    size_t n;
    char keys[][FOLDED_KEY_SIZE];
};

/* Add the account of a step to the sums of its job (as job_account_add_step()), as part of the
 * aggregated row if it is beyond the limit. 0 or -ENOMEM. */
int step_add_to_sum(struct job_account *sum, const struct step *step,
                    const struct step_account *account);
/* Add a step to the sum of them. 0 or -ENOMEM. */
int folded_steps_add(struct step_account *to, const struct step_account *account);

/* NULL: out of memory. free() it. */
struct folded_marks *folded_marks_create(struct step *const *steps, size_t n);
/* On the writer's thread, with the row. */
int folded_marks_put(struct store *store, const struct folded_marks *marks, struct error *error);
int folded_marks_remove(struct store *store, const struct folded_marks *marks, struct error *error);
/* The step was aggregated before the last process ended. */
bool folded_steps_has(struct store *store, const struct tag *tag);
/* At the start, when neither files nor counters of such steps are left: remove all marks. */
int folded_marks_sweep(struct store *store, struct error *error);

#endif
