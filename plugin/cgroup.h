/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which cgroup holds the processes of a step, and only them. Learnt from /proc, never from a
 * pattern of Slurm's names: these change from release to release. */
#ifndef JOBIO_PLUGIN_CGROUP_H
#define JOBIO_PLUGIN_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

#define CGROUP_PATH_MAX 1024

struct cgroup {
    int version; /* 2, or 1: the freezer hierarchy */
    unsigned level;
    uint64_t id; /* inode number */
    char path[CGROUP_PATH_MAX];
};

/* The cgroup of the step whose slurmstepd we are, before its tasks are made; `proc` is "/proc".
 * -EAGAIN: it cannot be told before there is a task. */
int cgroup_of_step(const char *proc, bool is_extern, struct cgroup *ret, struct error *error);

/* The same from one of the step's tasks. -ENOENT: the task has no cgroup that slurmstepd is not in
 * as well. */
int cgroup_of_task(const char *proc, pid_t pid, struct cgroup *ret, struct error *error);

/* The component of a heterogeneous step, which Slurm tells in the name of its cgroup only; HET_NONE
 * for all others. */
uint32_t cgroup_het(const struct cgroup *cgroup);

#endif
