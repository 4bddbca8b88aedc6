/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counts the MPI-IO of steps, for jobiod. A thread of its own looks for MPI in their processes and
 * attaches the probes, because both can take seconds. All functions are for one other thread.
 */
#ifndef JOBIO_COLLECTOR_MPI_WATCHER_H
#define JOBIO_COLLECTOR_MPI_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/probe/probe.h"
#include "common/error.h"
#include "common/mpi.h"

struct mpi_watcher;

/* The probe must outlive the watcher. The programs are loaded, and attached to libraries, when the
 * first step is added, and detached linger_ns after the last one was removed. If they cannot be
 * loaded, this is tried again, after 1 s at first and after 5 minutes at last. MPI_WATCHER_ALWAYS:
 * attach now, and stay attached. Returns NULL on out-of-memory. */
#define MPI_WATCHER_ALWAYS UINT64_MAX
struct mpi_watcher *mpi_watcher_create(const struct probe *probe, uint64_t linger_ns);
/* Ends the thread, unless it hangs, in a read from a server that does not answer: then it stays,
 * with what it uses. NULL is fine. */
void mpi_watcher_destroy(struct mpi_watcher *watcher);

/* Count a step, by its number in the maps of the probe. Returns false if it is not counted yet: the
 * programs are not attached. What cannot be done later is reported by mpi_watcher_read(). */
bool mpi_watcher_add(struct mpi_watcher *watcher, uint32_t step);
/* Forget a step and its counters. Steps that were not added are fine. */
void mpi_watcher_remove(struct mpi_watcher *watcher, uint32_t step);
/* Whether the step was added. NULL: false. */
bool mpi_watcher_has(struct mpi_watcher *watcher, uint32_t step);

struct mpi_watcher_state {
    size_t steps;
    bool ready;       /* attached to the libraries in the usual directories */
    struct error why; /* why the last attempt to load the programs failed; "" otherwise */
};
/* NULL: all 0. */
void mpi_watcher_get_state(struct mpi_watcher *watcher, struct mpi_watcher_state *ret);

/* The processes of a step, to be looked at. Takes over `pids` (malloc'd). more: there are others.
 */
void mpi_watcher_scan(struct mpi_watcher *watcher, uint32_t step, uint32_t *pids, size_t n,
                      bool more);

/* Returns the account of a step, which the caller owns; NULL on out-of-memory. It is incomplete if
 * the thread is not ready, or looks at a process of the step. */
struct mpi_account *mpi_watcher_read(struct mpi_watcher *watcher, uint32_t step);

#endif
