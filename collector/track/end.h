/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of steps and jobs: their last reading, the sums, and the hand-over to the writer. */
#ifndef JOBIO_COLLECTOR_TRACK_END_H
#define JOBIO_COLLECTOR_TRACK_END_H

#include "collector/track/tracker_state.h"

/* The step has ended, at_boot_ns (CLOCK_BOOTTIME; 0: just now). Its final account is made by the
 * next steps_close(). */
void step_end(struct step *step, enum step_state state, uint64_t at_boot_ns);
/* End the steps of the job whose cgroup is gone or has had no process for a while. */
void job_end_gone_steps(struct job *job);
/* Make the final accounts of all steps that have ended and hand them to the writer. That takes one
 * pass over the maps however many they are, and none if the last one started after their end. */
int steps_close(struct tracker *tracker, struct error *error);
/* End the job, unless one of its steps is open. */
void job_finish(struct job *job);

#endif
