/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The mount namespaces of jobs' tasks. A table is read once for all tasks that share it, in
 * portions, and kept for a second: not longer, because numbers of namespaces and super blocks are
 * soon reused.
 */
#ifndef JOBIO_COLLECTOR_MOUNTS_NAMESPACES_H
#define JOBIO_COLLECTOR_MOUNTS_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/mounts/mountinfo.h"

struct namespaces;

/* proc must outlive it. NULL: out of memory. */
struct namespaces *namespaces_create(const char *proc);
void namespaces_destroy(struct namespaces *namespaces); /* NULL is fine */

/* Start a turn of the loop, which reads at most so many lines; SIZE_MAX: no limit. A table is not
 * read twice in a turn. */
void namespaces_turn(struct namespaces *namespaces, size_t lines);

/* Find the super block in the namespace of this task. dev: s_dev, and in the upper half a number of
 * the caller's choice. since_ns: a table whose reading started earlier (CLOCK_MONOTONIC) may have
 * another super block with this s_dev. `host` is the table of the first process, whose super blocks
 * are skipped. 0: *ret is valid until the next call; 1: the table is being read, and
 * namespaces_work() will report (step, dev); -ENOENT: the namespace has no such super block, or is
 * the host's, or the task is gone; -EBUSY: too many tables are being read; -ENOMEM. */
int namespaces_find(struct namespaces *namespaces, const struct mountinfo *host, uint32_t pid,
                    uint32_t step, uint64_t dev, uint64_t since_ns,
                    const struct mountinfo_entry **ret);

/* Reports a lookup. entry NULL: the namespace has no such super block. Valid as of started_ns. */
typedef int (*namespaces_found_f)(uint32_t step, uint64_t dev, uint64_t started_ns,
                                  const struct mountinfo_entry *entry, void *arg);
/* Continue to read tables, within the limit of the turn; only those that a step needs (0: all). 0
 * or a negative result of `found`. */
int namespaces_work(struct namespaces *namespaces, const struct mountinfo *host, uint32_t step,
                    namespaces_found_f found, void *arg);
/* True if something is being read. */
bool namespaces_busy(const struct namespaces *namespaces);
/* True if this inode number is that of the host's namespace. */
bool namespaces_is_host(const struct namespaces *namespaces, uint64_t ino);
/* Do not report lookups of the step any more. */
void namespaces_forget(struct namespaces *namespaces, uint32_t step);

#endif
