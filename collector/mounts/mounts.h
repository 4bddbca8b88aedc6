/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of super blocks: s_dev -> mount point, type and source, from the host's mountinfo and, for
 * super blocks that only a job's own namespace has, from a task's /proc/PID/mountinfo.
 */
#ifndef JOBIO_COLLECTOR_MOUNTS_MOUNTS_H
#define JOBIO_COLLECTOR_MOUNTS_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct mounts;

struct mount_name {
    const char *mount; /* never NULL or empty; owned by the table */
    const char *fstype;
    const char *source;
    bool private;  /* only seen in a job's namespace */
    bool labelled; /* mounted in the host's namespace and not FUSE: may be a metric label */
};

/* proc: "/proc", or a test's folder. Reads the host's table (proc/1/mountinfo, else
 * proc/self/mountinfo). */
int mounts_create(struct mounts **ret, const char *proc, struct error *error);
void mounts_destroy(struct mounts *mounts);

/* A descriptor with POLLPRI when the host's table changed; then call mounts_refresh(). */
int mounts_fd(const struct mounts *mounts);
int mounts_refresh(struct mounts *mounts, struct error *error);

/* Is the super block that the step knows by this number still there? Else its name is not taken
 * from any table. Nor from a table that was read before *since_ns (CLOCK_MONOTONIC): until then
 * another had the number. Without such a function, all are, since the beginning. */
typedef bool (*mounts_is_there_f)(uint32_t step, uint64_t dev, uint64_t *since_ns, void *arg);
void mounts_set_check(struct mounts *mounts, mounts_is_there_f is_there, void *arg);

/* dev, here and below: s_dev, and in the upper half which of those that had this number it is.
 * Learn the name of a super block that a step touched: from the host's table, else from the task's.
 * What BPF saw (fstype, id; may be NULL) is the last resort: mount "(unknown)", source id. A name
 * once given to (step, dev) stays, also after an unmount, until mounts_forget(); dev numbers are
 * used again by later mounts. 0; 1: nobody could name it, or the task's table is still being read:
 * ask again, with other tasks of the step, too, which then replaces "(unknown)"; -ENOMEM. */
int mounts_learn(struct mounts *mounts, uint32_t step, uint64_t dev, uint32_t pid,
                 const char *fstype, const char *id, struct error *error);
/* Tables of tasks are read in portions of so many lines, one a turn of the loop; SIZE_MAX, as at
 * first: as a whole. mounts_turn() begins a turn, mounts_work() begins one and reads on: true if
 * there is more to do. */
void mounts_set_lines(struct mounts *mounts, size_t lines);
void mounts_turn(struct mounts *mounts);
bool mounts_work(struct mounts *mounts);
bool mounts_busy(const struct mounts *mounts);
/* Read at once what the step waits for (0: all). */
void mounts_finish(struct mounts *mounts, uint32_t step);
/* How many super blocks of the step have got a name instead of "(unknown)". */
unsigned mounts_renamed(const struct mounts *mounts, uint32_t step);
bool mounts_is_unknown(const struct mount_name *name);
/* The name, good until mounts_forget(step). dev 0 is "(no mount)", one nobody knows "(unknown)". */
struct mount_name mounts_find(struct mounts *mounts, uint32_t step, uint64_t dev);
void mounts_forget(struct mounts *mounts, uint32_t step);

#endif
