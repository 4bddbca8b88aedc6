/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The calls of the self-test, made in its child. */
#ifndef JOBIO_COLLECTOR_PROBE_SELFTEST_CALLS_H
#define JOBIO_COLLECTOR_PROBE_SELFTEST_CALLS_H

#include <stdint.h>

#include "common/io_op.h"

struct selftest_calls {
    uint64_t ns_outside, ns_inside; /* of a small read, in no step and in the step */
    uint64_t ns_attached; /* what the programs of a function cost a process that is in no step */
    /* How many calls were made in the step, by descriptor and by path. */
    uint32_t by_fd[IO_OP_COUNT], by_path[IO_OP_COUNT];
};

/* Before the process joins the step: create a file in the directory, and time reads and programs.
 */
void selftest_outside(struct selftest_calls *calls, const char *directory);
/* In the step: time the same reads, and make some calls of each operation. */
void selftest_inside(struct selftest_calls *calls, const char *directory);
/* Remove the directory and any remaining files in it. */
void selftest_clear(const char *directory);

#endif
