/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The nodes of jobs as Slurm knows them now. A job may get more nodes than its prologs knew, and
 * its first node may know nothing of it. jobio-record queries slurmctld, for one job at a time. */
#ifndef JOBIO_COLLECTOR_DAEMON_JOB_NODES_H
#define JOBIO_COLLECTOR_DAEMON_JOB_NODES_H

#include <stdbool.h>

#include "common/job.h"

struct job_nodes;
struct recorder;

/* A list has arrived: names separated by commas. */
typedef void (*job_nodes_learned_f)(const struct job_key *key, const char *nodes, void *arg);

/* NULL: out of memory. The recorder must outlive it, and not call back later. */
struct job_nodes *job_nodes_create(struct recorder *recorder, job_nodes_learned_f learned,
                                   void *arg);
void job_nodes_destroy(struct job_nodes *nodes); /* accepts NULL */

/* The last list that Slurm gave, valid until the loop continues; NULL: none yet. */
const char *job_nodes_get(const struct job_nodes *nodes, const struct job_key *key);
/* Query Slurm, if it has not answered within the last minute. Returns whether a new answer may
 * come; false: the last one is final. */
bool job_nodes_learn(struct job_nodes *nodes, const struct job_key *key);

#endif
