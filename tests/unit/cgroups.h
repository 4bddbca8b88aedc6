/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Real cgroups for a test, laid out as Slurm lays them out below a job. */
#ifndef JOBIO_TESTS_UNIT_CGROUPS_H
#define JOBIO_TESTS_UNIT_CGROUPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct cgroups {
    int version;
    char mount[256]; /* of the hierarchy */
    char job[64];    /* below the mount, "/jobio-test-PID" */
    char step[256];  /* what has to be tagged, below the mount */
    char stepd[256];
};

/* Version 2: <job>/<name>/{slurm,user}, to tag is `user`. Version 1, freezer: <job>/<name>, and
 * slurmstepd stays in <job>. False: this machine does not let us. */
bool cgroups_create(struct cgroups *c, int version, const char *name);
/* Remove all that is empty by now. */
void cgroups_destroy(struct cgroups *c);
/* Move the calling process to `path` below the mount. */
bool cgroups_enter(const struct cgroups *c, const char *path);
uint64_t cgroups_inode(const struct cgroups *c, const char *path);

#endif
