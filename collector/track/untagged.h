/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps of Slurm that run on this node and were not tagged: they began before the plugin was in
 * plugstack.conf, it is not there, or jobiod refused the tag. They are found by the names of
 * Slurm's cgroups, at most UNTAGGED_MAX of them.
 */
#ifndef JOBIO_COLLECTOR_TRACK_UNTAGGED_H
#define JOBIO_COLLECTOR_TRACK_UNTAGGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hierarchy;
struct jobs;
struct recent_steps;

#define UNTAGGED_MAX 256

/* As of the last look; all 0: none yet. */
struct untagged {
    uint64_t looked_ns;         /* CLOCK_BOOTTIME */
    uint64_t ids[UNTAGGED_MAX]; /* cgroups that were untagged then */
    size_t n_ids;
    size_t n;          /* of these, those that were untagged in the look before, too */
    char example[128]; /* the cgroup of one of them, "job_7/step_0" */
};

/* Look for them: steps that are neither in `jobs` nor in `recent`. A step counts from the second
 * look on, because the plugin tags a step some time after Slurm has made its cgroup. Returns true
 * if there are some and were none before. */
bool untagged_look(struct untagged *untagged, struct hierarchy *hierarchy, const struct jobs *jobs,
                   const struct recent_steps *recent);
/* The same if the last look is 10 s ago; else false. */
bool untagged_tick(struct untagged *untagged, struct hierarchy *hierarchy, const struct jobs *jobs,
                   const struct recent_steps *recent);

#endif
