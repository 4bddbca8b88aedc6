/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `jobio run`: jobiod puts the process at the socket into a cgroup of its own, counts it, and
 * answers with its account.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_RUNS_H
#define JOBIO_COLLECTOR_DAEMON_RUNS_H

#include <stdbool.h>
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
    const char *cluster;
    const char *runtime_dir; /* the parent of runs/ */
    bool is_backend_forced;  /* by the settings */
    struct probe *probe;
    struct sampler *sampler;
    struct hierarchy *hierarchy;
    struct tracker *tracker; /* knows the cgroups of jobs */
};

/* What the options point to must outlive it. */
int runs_create(struct runs **ret, sd_event *loop, const struct runs_options *options,
                struct error *error);
/* Its runs are counted on, for runs_adopt() of the next process. Accepts NULL. */
void runs_destroy(struct runs *runs);
/* Continue the runs of an earlier process whose counters are still in the maps. The cgroups of
 * others are removed, now or once they are empty. */
void runs_adopt(struct runs *runs);

/* Answer the requests run-begin and run-end. */
void runs_start(struct runs *runs, struct request *request, const struct message *m);
void runs_end(struct runs *runs, struct request *request, const struct message *m);

/* Call it every interval: removes cgroups that were not empty before. */
void runs_tick(struct runs *runs);
size_t runs_count(const struct runs *runs);
struct top_reading;
/* Add each run, with the values of its last reading. Returns 0 or -ENOMEM. */
int runs_top(const struct runs *runs, struct top_reading *reading);
/* List the live tasks of a run by its number in the maps. For sampler_tasks_f. */
size_t runs_tasks(const struct runs *runs, uint32_t number, uint32_t *pids, size_t max);

#endif
