/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cgroup (v2) for one command. */
#ifndef JOBIO_COLLECTOR_WATCH_CGROUP_H
#define JOBIO_COLLECTOR_WATCH_CGROUP_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/error.h"

struct cgroup;

/* Make a cgroup below our own, or at the top if ours cannot have children. -ENOTSUP: no
 * cgroup2 file system is mounted, or we are in a cgroup namespace, where the depth of a cgroup
 * cannot be known. */
int cgroup_create(struct cgroup **ret, struct error *error);
/* Move remaining processes to our own cgroup and remove it. -EBUSY: not possible for two seconds;
 * the text names the cgroup. After that only cgroup_destroy() may be called. */
int cgroup_remove(struct cgroup *cgroup, struct error *error);
/* The same, ignoring errors, and free it. NULL is fine. */
void cgroup_destroy(struct cgroup *cgroup);

/* The id (inode number) and the depth (the root is 0), as BPF sees them. */
uint64_t cgroup_id(const struct cgroup *cgroup);
unsigned cgroup_level(const struct cgroup *cgroup);
/* The directory of the mounted root of the hierarchy; owned by the cgroup. */
const char *cgroup_top(const struct cgroup *cgroup);

int cgroup_enter(const struct cgroup *cgroup, pid_t pid, struct error *error);

/* The processes in it now, at and below; waits up to wait_ms for those that are about to end. */
size_t cgroup_processes(const struct cgroup *cgroup, unsigned wait_ms);

/* Fill pids with processes in it, at and below, at most max. Returns their number. */
size_t cgroup_tasks(const struct cgroup *cgroup, uint32_t *pids, size_t max);

/* For tests. Where cgroup2 is mounted: reads a mountinfo, prefers /sys/fs/cgroup. `*ret_mount` and
 * `*ret_root` (the part of the hierarchy that is mounted there) are malloc'd. -ENOTSUP. */
int cgroup2_find(FILE *mountinfo, char **ret_mount, char **ret_root);
/* The v2 line of a /proc/PID/cgroup, malloc'd. -ENOTSUP. */
int cgroup2_own(FILE *self_cgroup, char **ret);
/* The directory of the cgroup `path`, below a mount of `root`, malloc'd; NULL: not below it, or out
 * of memory. */
char *cgroup2_directory(const char *mount, const char *root, const char *path);
unsigned cgroup_depth(const char *path);

#endif
