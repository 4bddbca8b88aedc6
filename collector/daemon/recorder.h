/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs jobio-record, the only program that talks to slurmctld, as a child with a time limit. */
#ifndef JOBIO_COLLECTOR_DAEMON_RECORDER_H
#define JOBIO_COLLECTOR_DAEMON_RECORDER_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "common/error.h"
#include "common/slurm_state.h"

struct recorder;

/* SIGCHLD must be blocked in all threads. timeout_ms: a child is killed after this time; 0:
 * 30 s. */
int recorder_create(struct recorder **ret, sd_event *loop, const char *program, unsigned timeout_ms,
                    struct error *error);
/* Running children continue; their recorder_done_f is not called. */
void recorder_destroy(struct recorder *recorder); /* accepts NULL */

/* result 0: the record was written; else a negative errno, and `error` has the output of the
 * program.
 */
typedef void (*recorder_done_f)(int result, const struct error *error, void *arg);

/* Write the record of the job. Few run at a time, the others are queued. `done` is called once, on
 * the loop, never inside this call. -ENOMEM, -EAGAIN: the queue is full. */
int recorder_start(struct recorder *recorder, uint32_t jobid, uint32_t restart, const char *record,
                   recorder_done_f done, void *arg, struct error *error);
/* nodes: the names, separated by commas. result -ESRCH: Slurm has no such job, or no nodes for it;
 * other negative errnos: Slurm was not queried. */
typedef void (*recorder_nodes_f)(int result, const char *nodes, const struct error *error,
                                 void *arg);
/* Query Slurm for the nodes of the job; otherwise as recorder_start(). */
int recorder_list_nodes(struct recorder *recorder, uint32_t jobid, uint32_t restart,
                        recorder_nodes_f done, void *arg, struct error *error);
/* end: how the run ended. result -EAGAIN: Slurm has not ended it yet; -ESRCH: Slurm has no such
 * job; other negative errnos: Slurm was not queried. */
typedef void (*recorder_state_f)(int result, const struct slurm_end *end, const struct error *error,
                                 void *arg);
/* Query Slurm for the state of the job; otherwise as recorder_start(). */
int recorder_ask_state(struct recorder *recorder, uint32_t jobid, uint32_t restart,
                       recorder_state_f done, void *arg, struct error *error);
/* The number of records that are being written or queued. */
size_t recorder_pending(const struct recorder *recorder);

#endif
