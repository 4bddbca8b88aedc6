/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jobio run` of users who are not root: jobiod puts the asking process into a cgroup of its own,
 * counts it, and answers with its account.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_RUNS_H
#define JOBIO_COLLECTOR_DAEMON_RUNS_H

#include <stddef.h>
#include <systemd/sd-event.h>

#include "collector/daemon/socket.h"
#include "common/error.h"

struct hierarchy;
struct probe;
struct runs;
struct sampler;
struct tracker;

struct runs_options {
    const char *cluster, *node;
    const char *runtime_dir; /* runs/ lies in it */
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
    struct tracker *tracker; /* knows the cgroups of jobs */
};

/* What the options point to must outlive it, strings too. Cgroups that runs of an earlier process
 * left are removed, now or once nobody is in them. */
int runs_create(struct runs **ret, sd_event *loop, const struct runs_options *options,
                struct error *error);
/* Ends all runs; their processes go on uncounted. NULL is fine. */
void runs_destroy(struct runs *runs);

/* The questions run-begin and run-end; they answer the request. */
void runs_begin(struct runs *runs, struct request *request, const struct message *m);
void runs_end(struct runs *runs, struct request *request, const struct message *m);

/* Every interval: remove cgroups that could not be removed before. */
void runs_tick(struct runs *runs);
size_t runs_count(const struct runs *runs);
struct top_reading;
/* Add what each has done as of the last reading. 0 or -ENOMEM. */
int runs_top(const struct runs *runs, struct top_reading *reading);
/* Living tasks of a run by its step's number in the maps, as sampler_tasks_f. */
size_t runs_tasks(const struct runs *runs, uint32_t number, uint32_t *pids, size_t max);

#endif
