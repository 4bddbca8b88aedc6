/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the node does beside jobs: the slices, scopes and services of systemd, counted as jobs are,
 * each in numbers of its own. A task belongs to the deepest cgroup that is counted, so that jobs
 * keep theirs and nothing is counted twice; what a slice does is what none of its parts does.
 * Nothing of it is stored: it is for the live view.
 */
#ifndef JOBIO_COLLECTOR_TRACK_SERVICES_H
#define JOBIO_COLLECTOR_TRACK_SERVICES_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* The maps are made with room for so many more steps. Beyond these, what is new is its slice's, and
 * left out. */
#define SERVICES_MAX 64

struct hierarchy;
struct probe;
struct sampler;
struct services;
struct top_reading;

/* Begins to count those that are there. All must outlive it. -ENOTSUP with text: where Slurm may
 * track its jobs by cgroup v1, they would be taken for parts of services. */
int services_create(struct services **ret, struct probe *probe, struct sampler *sampler,
                    struct hierarchy *hierarchy, struct error *error);
/* Their counters are dropped. NULL is fine. */
void services_destroy(struct services *services);

/* Every interval: those that have come, and those that are gone. */
void services_tick(struct services *services);
struct services_stats {
    size_t followed, left_out; /* left out: as of the last interval */
};
void services_stats(const struct services *services, struct services_stats *ret);
/* Living tasks by its step's number in the maps, as sampler_tasks_f. */
size_t services_tasks(const struct services *services, uint32_t number, uint32_t *pids, size_t max);
/* Add what each has done as of the last reading. 0 or -ENOMEM. */
int services_top(const struct services *services, struct top_reading *reading);

#endif
