/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bursts of writes that recur, such as checkpoints, found in the time line of a mount. None are
 * reported if the time line is too coarse to tell one from the next: between any two there must be
 * two bins without them, and they may take half of the time.
 */
#ifndef JOBIO_REPORT_BURSTS_H
#define JOBIO_REPORT_BURSTS_H

#include <stdint.h>

#include "common/account.h"
#include "common/timeline.h"

struct bursts {
    unsigned n;         /* at least 3, or 0: none */
    uint64_t every_s;   /* mean time from the start of one to that of the next */
    uint64_t longest_s; /* no burst took longer; shorter ones look longer, see common/timeline.h */
    uint64_t bytes;     /* written in all of them */
    uint64_t wait_ns;   /* time inside synchronous calls during them, of all threads */
    uint64_t stall_ns;  /* how long the thread that waited longest did, or TIMELINE_UNKNOWN */
};

/* In the time line of a mount alone. */
struct bursts bursts_find(const struct timeline *t);
/* In the time line of mount `m` of these. The longest wait of a thread includes its waits on other
 * mounts: if there is much of these during the bursts, the stall is unknown. */
struct bursts bursts_of_mount(const struct io_mounts *mounts, const struct io_mount *m);

#endif
