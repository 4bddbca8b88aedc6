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

/* proc: "/proc", or a test's directory. Reads the host's table (proc/1/mountinfo, else
 * proc/self/mountinfo). */
int mounts_create(struct mounts **ret, const char *proc, struct error *error);
void mounts_destroy(struct mounts *mounts);

/* A descriptor with POLLPRI when the host's table changed; then call mounts_refresh(). */
int mounts_fd(const struct mounts *mounts);
int mounts_refresh(struct mounts *mounts, struct error *error);

/* True if the super block that has this number for the step still exists, since *since_ns
 * (CLOCK_MONOTONIC): before, another one had the number, so older tables are not used for its name.
 * If it is false, no table is used. Without such a function all exist, since the start. */
typedef bool (*mounts_is_there_f)(uint32_t step, uint64_t dev, uint64_t *since_ns, void *arg);
void mounts_set_check(struct mounts *mounts, mounts_is_there_f is_there, void *arg);

/* Look up the name of a super block that a step uses: in the host's table, else in the task's, else
 * from what BPF reported (fstype, id; may be NULL): mount "(unknown)", source id. dev, here and
 * below: s_dev, and in the upper half a count of the super blocks that had this number before. The
 * name of (step, dev) is kept until mounts_forget(), also after an unmount: later mounts reuse the
 * number. 0; 1: it was not found, or the task's table is still being read: call again, also with
 * other tasks of the step, to replace "(unknown)"; -ENOMEM. */
int mounts_learn(struct mounts *mounts, uint32_t step, uint64_t dev, uint32_t pid,
                 const char *fstype, const char *id, struct error *error);
/* A mount as the kernel saw it when a step first used it. */
struct mount_seen {
    uint32_t space;       /* inode number of the mount namespace of the task */
    const char *in_space; /* mount point from the root of the namespace; NULL: not known */
    const char *in_task;  /* the same from the root of the task; NULL: it is not below that */
    const char *fstype, *source;
};
/* After mounts_learn() has returned 1: use this name. A table that is still being read may replace
 * it. 0; 1: there is no name in it; -ENOMEM. */
int mounts_learn_seen(struct mounts *mounts, uint32_t step, uint64_t dev,
                      const struct mount_seen *seen);
/* Tables of tasks are read in portions of so many lines, one in each turn of the loop; SIZE_MAX,
 * the default: at once. mounts_turn() starts a turn, mounts_work() starts one and reads on; true if
 * there is more to do. */
void mounts_set_lines(struct mounts *mounts, size_t lines);
void mounts_turn(struct mounts *mounts);
bool mounts_work(struct mounts *mounts);
bool mounts_busy(const struct mounts *mounts);
/* Read now all tables that the step needs (0: all steps). */
void mounts_finish(struct mounts *mounts, uint32_t step);
/* The number of super blocks of the step whose "(unknown)" was replaced by a name. */
unsigned mounts_renamed(const struct mounts *mounts, uint32_t step);
bool mounts_is_unknown(const struct mount_name *name);
/* The name, valid until mounts_forget(step). dev 0 is "(no mount)", IO_DEV_OTHER "(other mounts)",
 * the kernel's own tmpfs (memfd, System V shared memory) "(memory)", an unknown one "(unknown)". */
struct mount_name mounts_find(struct mounts *mounts, uint32_t step, uint64_t dev);
/* Returns false if mounts_learn() was never called for it: then nothing of it is known. */
bool mounts_has(const struct mounts *mounts, uint32_t step, uint64_t dev);
void mounts_forget(struct mounts *mounts, uint32_t step);

#endif
