/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/untagged.h"

#include <stdio.h>
#include <string.h>

#include "collector/cgroup/hierarchy.h"
#include "collector/track/job.h"
#include "collector/track/recent_steps.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define LOOK_NS (10 * NS_PER_S)

/* Where Slurm's plugins cgroup/v2 (with and without systemd) and cgroup/v1 put the tasks of a step.
 * If a node has several slurmd, the names have theirs. */
static const struct place {
    int version;
    const char *pattern;
} places[] = {
    {2, "/system.slice/*slurmstepd.scope/job_*/step_*/user"},
    {2, "/*slurmstepd.scope/job_*/step_*/user"},
    {1, "/slurm*/uid_*/job_*/step_*"},
};

struct look {
    const struct untagged *before;
    struct hierarchy *hierarchy;
    const struct jobs *jobs;
    const struct recent_steps *recent;
    const struct place *place;
    struct untagged now;
};

static bool is_tagged(const struct look *look, uint64_t id)
{
    int version = look->place->version;

    for (size_t i = 0; i < look->jobs->n; i++) {
        const struct job *job = look->jobs->items[i];

        for (size_t j = 0; j < job->n_steps; j++)
            if (job->steps[j]->tag.cgroup_id == id && job->steps[j]->tag.version == version)
                return true;
    }
    return recent_steps_has_cgroup(look->recent, version, id);
}

static bool was_untagged(const struct untagged *before, uint64_t id)
{
    for (size_t i = 0; i < before->n_ids; i++)
        if (before->ids[i] == id)
            return true;
    return false;
}

static void set_example(struct untagged *untagged, const char *path)
{
    const char *name = strstr(path, "/job_");
    size_t size = name ? strcspn(name + 1, "/") + 1 : 0;

    if (!name)
        return;
    size += strcspn(name + 1 + size, "/");
    (void)snprintf(untagged->example, sizeof(untagged->example), "%.*s", (int)size, name + 1);
}

/* The extern step has no task of Slurm's. A cgroup without processes may be one that Slurm failed
 * to remove. */
static void take(const struct hierarchy_leaf *leaf, void *arg)
{
    struct look *look = arg;
    struct untagged *now = &look->now;
    uint32_t pid;

    if (now->n_ids == UNTAGGED_MAX || strstr(leaf->path, "/step_extern") ||
        is_tagged(look, leaf->id) ||
        !hierarchy_tasks(look->hierarchy, look->place->version, leaf->path, &pid, 1))
        return;
    now->ids[now->n_ids++] = leaf->id;
    if (was_untagged(look->before, leaf->id) && now->n++ == 0)
        set_example(now, leaf->path);
}

bool untagged_look(struct untagged *untagged, struct hierarchy *hierarchy, const struct jobs *jobs,
                   const struct recent_steps *recent)
{
    struct look look = {.before = untagged,
                        .hierarchy = hierarchy,
                        .jobs = jobs,
                        .recent = recent,
                        .now.looked_ns = clock_ns(CLOCK_BOOTTIME)};
    bool is_new;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        look.place = &places[i];
        hierarchy_find(hierarchy, places[i].version, places[i].pattern, take, &look);
    }
    is_new = look.now.n && !untagged->n;
    *untagged = look.now;
    return is_new;
}

bool untagged_tick(struct untagged *untagged, struct hierarchy *hierarchy, const struct jobs *jobs,
                   const struct recent_steps *recent)
{
    return clock_ns(CLOCK_BOOTTIME) - untagged->looked_ns >= LOOK_NS &&
           untagged_look(untagged, hierarchy, jobs, recent);
}
