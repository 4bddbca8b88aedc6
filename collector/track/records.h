/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of jobs and steps on their way to the store. The counters of a step stay in the maps,
 * and its files on disk, until the writer has reported that its row is committed.
 */
#ifndef JOBIO_COLLECTOR_TRACK_RECORDS_H
#define JOBIO_COLLECTOR_TRACK_RECORDS_H

#include "collector/track/tracker_state.h"

/* Hand all unsaved rows of the job to the writer, and its backlog for its first node. What the
 * writer cannot take now is left for the next call. */
void job_save(struct job *job);
/* Hand provisional rows of the running steps to the writer, if they are due or a step has none. */
void job_save_provisional(struct job *job);
/* The name of the sink that is the job's first node, malloc'd; *ret is NULL if that is this node or
 * not known. 0 or -ENOMEM. */
int job_peer_sink(const struct job *job, char **ret);

#endif
