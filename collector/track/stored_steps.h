/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps that are in the store: their counters in the maps and their files are removed. */
#ifndef JOBIO_COLLECTOR_TRACK_STORED_STEPS_H
#define JOBIO_COLLECTOR_TRACK_STORED_STEPS_H

#include "collector/track/folded_steps.h"
#include "collector/track/tracker_state.h"

/* Drop the counters and files of all such steps in one pass over the maps. The writer's thread
 * waits for running programs, then the pass follows: call it again after the writer has reported
 * results. Without a writer, the caller waits. Unless `now`, the steps wait for others that the
 * writer still has, and for the gap after the last pass: then the function returns how long to wait
 * in ns, else 0. */
uint64_t stored_steps_drop(struct tracker *tracker, bool now);
/* Remove the job if its last row and all its steps are in the store. */
void job_remove_if_stored(struct job *job);
/* Marks to remove with the next drop; takes them over. */
void stored_steps_add_marks(struct tracker *tracker, struct folded_marks *marks);
/* Free the marks that were added. */
void stored_steps_clear(struct tracker *tracker);

#endif
