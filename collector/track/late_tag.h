/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps that were tagged after the deadline at which their plugin lets the user's code start. If
 * the plugin has put the cgroup into the map itself, the step file has DIRECT=1, now or in a
 * moment. If not, the step's account is marked incomplete with "began-untracked".
 */
#ifndef JOBIO_COLLECTOR_TRACK_LATE_TAG_H
#define JOBIO_COLLECTOR_TRACK_LATE_TAG_H

#include "collector/track/tracker_state.h"

/* When (CLOCK_BOOTTIME) the plugin lets the user's code start, answered or not. */
uint64_t tag_deadline(const struct tag *tag);
/* The step was not in the map when it was put there after its deadline. */
void late_tag_mark(struct step *step);
/* Check whether the plugin has confirmed the step. at_end: this is the last check. */
void late_tag_check(struct step *step, bool at_end);
/* Mark the account of a provisional row as incomplete while the step is unconfirmed: the next
 * jobiod finds the step in the map and cannot know that it was late. 0 or -ENOMEM. */
int late_tag_mark_row(const struct step *step, struct step_account *row);

#endif
