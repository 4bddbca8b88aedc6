/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cgroup hierarchies of this machine: v2, and v1's freezer. */
#ifndef JOBIO_COLLECTOR_CGROUP_HIERARCHY_H
#define JOBIO_COLLECTOR_CGROUP_HIERARCHY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/error.h"

struct hierarchy;

/* mountinfo: "/proc/self/mountinfo", or a test's file. Hierarchies that are mounted later are found
 * on first use. */
int hierarchy_create(struct hierarchy **ret, const char *mountinfo, struct error *error);
void hierarchy_destroy(struct hierarchy *hierarchy); /* NULL is fine */

/* Check that there is a cgroup with this path and inode number. 0; -ENOTSUP: that hierarchy is not
 * mounted; -ENOENT: no such path; -ESTALE: another cgroup has the path by now. */
int hierarchy_check(struct hierarchy *hierarchy, int version, const char *path, uint64_t id,
                    struct error *error);

/* True if no process is left at or below the parent of this cgroup (for a step: neither its tasks
 * nor its slurmstepd). Always false for v1, which does not report it. */
bool hierarchy_is_deserted(struct hierarchy *hierarchy, int version, const char *path);
/* The number of processes in this v2 cgroup; at least 1 if there are any below it. 0 also if there
 * is no such cgroup. */
size_t hierarchy_processes(struct hierarchy *hierarchy, const char *path);

/* Fill pids with processes at and below this cgroup, at most max. Returns their number. */
size_t hierarchy_tasks(struct hierarchy *hierarchy, int version, const char *path, uint32_t *pids,
                       size_t max);

/* A cgroup. */
struct hierarchy_leaf {
    char path[512]; /* below the mount */
    uint64_t id;
    unsigned level;
};

/* Call `each` for every child of this v2 cgroup ("": the root). 0 or the error of opendir. */
typedef void (*hierarchy_child_f)(const struct hierarchy_leaf *child, void *arg);
int hierarchy_children(struct hierarchy *hierarchy, const char *path, hierarchy_child_f each,
                       void *arg);
/* Call `each` for every cgroup of that version whose path matches the pattern, as glob(3). None if
 * that hierarchy is not mounted, or without memory. */
void hierarchy_find(struct hierarchy *hierarchy, int version, const char *pattern,
                    hierarchy_child_f each, void *arg);
bool hierarchy_is_mounted(struct hierarchy *hierarchy, int version);

/* Make the v2 cgroup `name` below the one that the process is in, and move the process there. It
 * never leaves the limits of its cgroup: if that one cannot have children with processes, the
 * process stays where it is. -ENAMETOOLONG, -EAGAIN (limits of the cgroup), -EOPNOTSUPP (threaded),
 * -EEXIST... */
int hierarchy_enclose(struct hierarchy *hierarchy, pid_t pid, const char *name,
                      struct hierarchy_leaf *ret, struct error *error);
/* For processes of jobiod itself: the same, or, if that fails, below /jobio. */
int hierarchy_enclose_anywhere(struct hierarchy *hierarchy, pid_t pid, const char *name,
                               struct hierarchy_leaf *ret, struct error *error);
/* Remove it. -EBUSY: it has processes. 0 also if it does not exist. */
int hierarchy_remove(struct hierarchy *hierarchy, const char *path);

/* The v2 path of a process, as /proc/PID/cgroup has it; buf holds 512 bytes. -ESRCH; -ENOTSUP: it
 * is in no v2 cgroup; -ENAMETOOLONG. */
int hierarchy_of(pid_t pid, char buf[512], struct error *error);
/* The same in v1's freezer hierarchy. */
int hierarchy_freezer_of(pid_t pid, char buf[512], struct error *error);

#endif
