/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O of the node besides jobs: each slice, scope and service of systemd is counted like a
 * step. A task belongs to the deepest counted cgroup, so jobs keep theirs and nothing is counted
 * twice; a slice shows only I/O that none of its parts did. Nothing is stored: it is for the live
 * view.
 */
#ifndef JOBIO_COLLECTOR_TRACK_SERVICES_H
#define JOBIO_COLLECTOR_TRACK_SERVICES_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* The room for services in the maps. Beyond it, a new service counts as part of its slice and is
 * reported as left out. */
#define SERVICES_MAX 64

struct hierarchy;
struct probe;
struct sampler;
struct services;
struct top_reading;

/* Starts to count the existing services. All must outlive it. -ENOTSUP with text: Slurm may track
 * its jobs by cgroup v1, and they would count as parts of services. */
int services_create(struct services **ret, struct probe *probe, struct sampler *sampler,
                    struct hierarchy *hierarchy, struct error *error);
/* Drops the counters. NULL is fine. */
void services_destroy(struct services *services);

/* Every interval: find new services and those that are gone. */
void services_tick(struct services *services);
struct services_stats {
    size_t followed, left_out; /* left_out: as of the last tick */
};
void services_stats(const struct services *services, struct services_stats *ret);
/* Live tasks by the number in the maps, as sampler_tasks_f. */
size_t services_tasks(const struct services *services, uint32_t number, uint32_t *pids, size_t max);
/* Add each service as of the last reading. 0 or -ENOMEM. */
int services_top(const struct services *services, struct top_reading *reading);

#endif
