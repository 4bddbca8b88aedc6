/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rank of a process, which launchers of MPI and Slurm put into its environment. */
#ifndef JOBIO_COLLECTOR_TRACE_RANK_H
#define JOBIO_COLLECTOR_TRACE_RANK_H

#include <stdint.h>

enum rank_state {
    RANK_UNREAD, /* the process has ended, or its environment cannot be read, or not all of it */
    RANK_NONE,   /* its environment has none */
    RANK_FOUND,
};

/* Read the environment of a process, 1 MiB at most; with RANK_FOUND, *ret is set. This waits for
 * faults of the process, which its user can make as long as they like. proc: "/proc", or a test's
 * directory. seen_ns, CLOCK_MONOTONIC: the process made a request then; a process that was started
 * later has only got its number. */
enum rank_state rank_read(const char *proc, uint32_t pid, uint64_t seen_ns, uint32_t *ret);

#endif
