/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does the probe count on this kernel? A child makes known calls in a scratch cgroup, and the
 * counters are compared with them. What was inlined in a kernel that nobody has tried shows here.
 */
#ifndef JOBIO_COLLECTOR_PROBE_SELFTEST_H
#define JOBIO_COLLECTOR_PROBE_SELFTEST_H

#include <stdint.h>

#include "common/error.h"

struct hierarchy;
struct probe;

struct selftest {
    uint64_t tested;       /* bit 1 << io_op: operations that were tried */
    uint64_t failed;       /* those of them whose counter did not move as it should */
    uint64_t ns_per_event; /* what a counted call takes longer than one of no step; 0: not known */
    uint64_t took_ns;
};

/* Makes a folder in `folder` (a file system that is counted; /run is one) and takes it away again.
 * Gives up after half a second. Nothing that goes wrong here is a reason not to start. */
int selftest_run(struct probe *probe, struct hierarchy *hierarchy, const char *folder,
                 struct selftest *ret, struct error *error);

#endif
