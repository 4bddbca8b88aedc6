/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How Slurm ended the jobs of this node: jobio-record queries slurmctld when a job is over here,
 * for one job at a time, and the answer is stored. Of the nodes of a job only the first one asks.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_JOB_STATES_H
#define JOBIO_COLLECTOR_DAEMON_JOB_STATES_H

#include <systemd/sd-event.h>

#include "common/error.h"
#include "common/job.h"

struct job_states;
struct recorder;
struct store;
struct writer;

struct job_states_options {
    sd_event *loop;
    struct recorder *recorder; /* must outlive it, and not call back later */
    const char *const *sinks;  /* get a row of the job again when its state is known; NULL: none */
    void (*queued)(void *arg); /* such a row is in the outbox */
    void *arg;
};

/* Takes up the jobs in the store that ended within the last hour and whose state is not known. */
int job_states_create(struct job_states **ret, const struct job_states_options *options,
                      struct store *store, struct error *error);
/* All functions below accept NULL: states are not asked for. */

/* The states are stored with this writer, which must be destroyed first. */
void job_states_attach(struct job_states *states, struct writer *writer);
void job_states_destroy(struct job_states *states);

/* The job is over on this node. Slurm is queried soon, and again while the job runs elsewhere or
 * Slurm does not answer, for an hour. At most 1,024 jobs wait for that; of a further one, the state
 * stays unknown, which is logged. */
void job_states_add(struct job_states *states, const struct job_account *job);

#endif
