/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A /proc/PID/mountinfo: for each super block (s_dev) the mount that names it best. It may have
 * tens of thousands of lines and the kernel needs a microsecond or two for each, so it can be read
 * in portions. An open one keeps its mount namespace alive: read it to its end soon.
 */
#ifndef JOBIO_COLLECTOR_MOUNTS_MOUNTINFO_H
#define JOBIO_COLLECTOR_MOUNTS_MOUNTINFO_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct mountinfo;

/* Of several mounts of one super block the lowest class names it, then the shortest name, then the
 * first line. */
enum mountinfo_class { MOUNTINFO_WHOLE, MOUNTINFO_BIND, MOUNTINFO_DELETED };

struct mountinfo_entry {
    uint32_t dev;
    enum mountinfo_class class;
    const char *mount, *fstype, *source; /* none is empty */
};

/* who: a process, "self", or "1", below proc ("/proc"). -ENOENT, -ESRCH, -EINVAL: the process is
 * gone. */
int mountinfo_open(struct mountinfo **ret, const char *proc, const char *who, struct error *error);
void mountinfo_close(struct mountinfo *info); /* NULL is fine */

/* Read at most *lines more lines and subtract those that were read from *lines. 1: there are more;
 * 0: the end, and the file is closed. Lines of another form are skipped, and so are super blocks
 * that `except` (may be NULL) has. */
int mountinfo_read(struct mountinfo *info, const struct mountinfo *except, size_t *lines);

/* NULL: no such super block, or not read to the end. Valid until mountinfo_close(). */
const struct mountinfo_entry *mountinfo_find(const struct mountinfo *info, uint32_t dev);

#endif
