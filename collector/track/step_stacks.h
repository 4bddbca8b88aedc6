/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code of steps waited: the steps that are recorded, and what becomes of their profiles. */
#ifndef JOBIO_COLLECTOR_TRACK_STEP_STACKS_H
#define JOBIO_COLLECTOR_TRACK_STEP_STACKS_H

#include "collector/track/options.h"
#include "collector/track/step.h"

struct tracker;

/* Record stacks from now on. Returns 0 or -ENOMEM. */
int steps_stacks_create(struct tracker *tracker, const struct tracker_options *options,
                        struct error *error);
void steps_stacks_destroy(struct tracker *tracker);

/* Record the stacks of the step if its user or this node wants it. A failure is logged. */
void step_stacks_start(struct step *step);
/* The step has ended: its profile goes to the store when it is known. */
void step_stacks_end(struct step *step);
/* Every interval: try again what could not be stored. */
void steps_stacks_save(struct tracker *tracker);
/* jobiod ends: store the profiles of all ended steps, without the stacks that are not unwound yet.
 */
void steps_stacks_stop(struct tracker *tracker);

#endif
