/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs' counts of missed events, kept in the store for the next process. */
#ifndef JOBIO_COLLECTOR_TRACK_MISSED_RECORD_H
#define JOBIO_COLLECTOR_TRACK_MISSED_RECORD_H

#include "collector/track/tracker_state.h"

struct store;

/* Once a tick, after the rows that include these counts: hand them to the writer. */
void missed_record_save(struct tracker *tracker);
/* Before jobs are adopted: compare with the counts of the last process, so that the adopted steps
 * report what was missed between the processes. If there are none, or the programs are new,
 * counting starts here. */
int missed_record_resume(struct tracker *tracker, struct store *store, struct error *error);
/* The kernel has rebooted and counts from 0: remove the record. */
int missed_record_remove(struct store *store, struct error *error);

#endif
