/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the cgroup that contains all processes of a step and no others. It is read from /proc,
 * not derived from Slurm's names, which differ between releases. */
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

/* The cgroup of the step of this slurmstepd, before it has tasks; `proc` is "/proc". -EAGAIN: it
 * is not known before there is a task. */
int cgroup_of_step(const char *proc, bool is_extern, struct cgroup *ret, struct error *error);

/* The same from a task of the step. -ENOENT: slurmstepd is in the cgroup of the task, too. */
int cgroup_of_task(const char *proc, pid_t pid, struct cgroup *ret, struct error *error);

/* The component of a heterogeneous step, which only the name of its cgroup contains; HET_NONE for
 * other steps. */
uint32_t cgroup_het(const struct cgroup *cgroup);

#endif
