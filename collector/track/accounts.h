/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The accounts of running jobs and steps as of the last reading. */
#ifndef JOBIO_COLLECTOR_TRACK_ACCOUNTS_H
#define JOBIO_COLLECTOR_TRACK_ACCOUNTS_H

#include "collector/track/tracker_state.h"

/* The account of a step: as of now, or as it ended. 0 or a negative errno. */
int step_get_account(const struct step *step, struct step_account *ret);
/* The mounts of a step as of the last reading; NULL if its job's sum includes them. */
const struct io_mounts *step_unsummed_mounts(const struct step *step);
/* Copy who the job is: its ids, names and start. 0 or -ENOMEM; then *to is incomplete. */
int job_copy_identity(const struct job_account *from, struct job_account *to);
/* The account of the job: its sum and, also in `steps`, all steps that are not in the store. NULL:
 * out of memory. */
struct job_account *job_snapshot(struct job *job);
/* The row of the job: as job_snapshot(), without steps and without their completeness. */
struct job_account *job_row(struct job *job);
/* As job_snapshot(), with the sums of ended steps among `steps`. */
struct job_account *job_report(struct job *job);
/* Bring the rates and peaks of the job up to date. tick: the end of an interval. 0 or -ENOMEM. */
int job_update_meter(struct job *job, uint64_t now_ns, bool tick);
/* Add to totals for metrics: private mounts are summed by type, and types beyond the first
 * IO_PRIVATE_TYPES as "(other)". 0 or -ENOMEM. */
int totals_add(struct io_mounts *totals, const struct io_mounts *mounts);

#endif
