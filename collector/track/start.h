/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The start of steps: from a tag to a step that is counted. */
#ifndef JOBIO_COLLECTOR_TRACK_START_H
#define JOBIO_COLLECTOR_TRACK_START_H

#include "collector/track/tracker_state.h"

/* Put the step's cgroup into the map and track the step. Idempotent. -ENOENT, -ESTALE: there is no
 * such cgroup. */
int step_start(struct tracker *tracker, const struct tag *tag, struct error *error);
/* The step is tracked, or was until a moment ago. If it has another cgroup by now, the earlier step
 * is ended and this returns false. */
bool step_is_tracked(struct tracker *tracker, const struct tag *tag);
/* Track a step that was found in a file or in the store. `before`: its last row in the store, or
 * NULL. counted: it was in the map already. Takes the tag over on success. */
int step_adopt(struct tracker *tracker, struct tag *tag, const struct step_account *before,
               bool counted, struct step **ret, struct error *error);
/* Track a job with this identity; takes `account` over on success. NULL: out of memory. */
struct job *job_start(struct tracker *tracker, struct job_account *account);

#endif
