/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI-IO of steps: which are counted, and their accounts. */
#ifndef JOBIO_COLLECTOR_TRACK_STEP_MPI_H
#define JOBIO_COLLECTOR_TRACK_STEP_MPI_H

#include "collector/track/step.h"

struct tracker;

/* Count the MPI-IO of a step if its user or this node wants it. late: its programs may already run.
 * 0 or -ENOMEM. */
int step_mpi_start(struct step *step, bool late);
/* The same for a step that was tagged under an earlier jobiod; `before` is its last account, which
 * is continued, or NULL. 0 or -ENOMEM. */
int step_mpi_adopt(struct step *step, const struct mpi_account *before);
/* The step has disappeared, so it may have called more. 0 or -ENOMEM. */
int step_mpi_vanish(struct step *step);
/* Read the account so far into *ret, which the caller owns; NULL: not counted. 0 or -ENOMEM. */
int step_mpi_read(const struct step *step, struct mpi_account **ret);
/* Its last account was read: remove the counters. */
void step_mpi_end(struct step *step);

/* Every interval: look at the processes of all steps. */
void steps_mpi_scan(struct tracker *tracker);

#endif
