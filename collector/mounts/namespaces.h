/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount namespaces of jobs' tasks. A table is read once for all tasks that share it, in
 * portions, and kept for a second: longer it could be wrong, because numbers of namespaces and of
 * super blocks are soon used again.
 */
#ifndef JOBIO_COLLECTOR_MOUNTS_NAMESPACES_H
#define JOBIO_COLLECTOR_MOUNTS_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/mounts/mountinfo.h"

struct namespaces;

/* proc must outlive it. NULL: no memory. */
struct namespaces *namespaces_create(const char *proc);
void namespaces_destroy(struct namespaces *namespaces); /* NULL is fine */

/* A turn of the loop begins: it reads so many lines at most, SIZE_MAX: no limit. What was read in
 * this turn is not read again in it. */
void namespaces_turn(struct namespaces *namespaces, size_t lines);

/* The super block in the namespace of this task. dev: s_dev, and in the upper half what the caller
 * tells apart by it. since_ns: a table that was begun earlier (CLOCK_MONOTONIC) may have another
 * with this s_dev. `host` is the table of the first process: what that has is nowhere looked for
 * again. 0: *ret is good until the next call; 1: the table is being read,
 * namespaces_work() will tell of (step, dev); -ENOENT: the namespace has no such super block, or
 * the task has gone, or it is the host's; -EBUSY: too many tables are being read; -ENOMEM. */
int namespaces_find(struct namespaces *namespaces, const struct mountinfo *host, uint32_t pid,
                    uint32_t step, uint64_t dev, uint64_t since_ns,
                    const struct mountinfo_entry **ret);

/* entry NULL: the namespace has no such super block. It is as of began_ns, or later. */
typedef int (*namespaces_told_f)(uint32_t step, uint64_t dev, uint64_t began_ns,
                                 const struct mountinfo_entry *entry, void *arg);
/* Read on what is being read, within the turn; those only that a step waits for (0: all). 0 or a
 * negative return of `told`. */
int namespaces_work(struct namespaces *namespaces, const struct mountinfo *host, uint32_t step,
                    namespaces_told_f told, void *arg);
/* True if something is being read. */
bool namespaces_busy(const struct namespaces *namespaces);
/* Nobody is to be told of the step any more. */
void namespaces_forget(struct namespaces *namespaces, uint32_t step);

#endif
