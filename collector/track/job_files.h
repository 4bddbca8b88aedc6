/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files in jobs/: what Slurm's prolog wrote about the jobs of this node (doc/protocol.md). */
#ifndef JOBIO_COLLECTOR_TRACK_JOB_FILES_H
#define JOBIO_COLLECTOR_TRACK_JOB_FILES_H

#include "collector/track/tracker_state.h"

/* Set user, account and partition of all runs of the job that are tracked, and learn their nodes
 * from the job's file. NULL: not known. */
void job_files_describe(struct tracker *tracker, uint32_t jobid, const char *user,
                        const char *account, const char *partition);
/* Read user, account, partition and nodes from the job's file, unless they are known. */
void job_file_read(struct job *job);
/* The file of this run of the job, as a message that the caller frees; NULL: there is none. */
struct message *job_file_of(const struct tracker *tracker, const struct job_key *key);
/* Read the job's nodes from its file. */
void job_file_read_nodes(struct job *job);
/* Raise the number of expected nodes to that of job->nodes. */
void job_file_count_nodes(struct job *job);
/* Remove the job's file, unless a run of the job is tracked or the file is of a later run than
 * `restart`. */
void job_file_remove(struct tracker *tracker, uint32_t jobid, uint32_t restart);
/* About once a minute: remove the files of runs that ended some time ago. */
void job_files_sweep(struct tracker *tracker);

#endif
