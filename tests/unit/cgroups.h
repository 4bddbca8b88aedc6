/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real cgroups for a test, in the layout that Slurm uses below a job. */
#ifndef JOBIO_TESTS_UNIT_CGROUPS_H
#define JOBIO_TESTS_UNIT_CGROUPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroups {
    int version;
    char mount[256]; /* of the hierarchy */
    char job[64];    /* below the mount, "/jobio-test-PID" */
    char step[256];  /* the cgroup to tag, below the mount */
    char stepd[256];
};

/* Version 2: <job>/<name>/{slurm,user}, to tag is `user`. Version 1, freezer: <job>/<name>, and
 * slurmstepd stays in <job>. False if this machine does not allow it. */
bool cgroups_create(struct cgroups *c, int version, const char *name);
/* Remove the cgroups that are empty. */
void cgroups_destroy(struct cgroups *c);
/* Move the calling process to `path` below the mount. */
bool cgroups_enter(const struct cgroups *c, const char *path);
uint64_t cgroups_inode(const struct cgroups *c, const char *path);

#endif
