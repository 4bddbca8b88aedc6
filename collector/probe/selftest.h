/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Self-test of the probe: a child makes known calls in a scratch cgroup, and the counters are
 * compared with them. It detects functions that are inlined in an untested kernel.
 */
#ifndef JOBIO_COLLECTOR_PROBE_SELFTEST_H
#define JOBIO_COLLECTOR_PROBE_SELFTEST_H

#include <stdint.h>

#include "common/error.h"

struct hierarchy;
struct probe;

struct selftest {
    uint64_t tested;       /* bit 1 << io_op: operations that were tried */
    uint64_t failed;       /* those of them whose counter was wrong */
    uint64_t ns_per_event; /* what a counted read of the page cache costs more than without jobio:
                            * the least that a counted call costs; 0: unknown */
    uint64_t took_ns;
};

/* Creates a directory in `directory` (on a file system that is counted, such as /run) and removes
 * it again. Gives up after two seconds. A failure is not a reason not to start. */
int selftest_run(struct probe *probe, struct hierarchy *hierarchy, const char *directory,
                 struct selftest *ret, struct error *error);

#endif
