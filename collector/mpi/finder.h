/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the MPI of processes. A process maps it after its start, so it is looked at several times
 * in the first second after it has executed a program, and again at every reading. What it may have
 * called before MPI was found is reported.
 */
#ifndef JOBIO_COLLECTOR_MPI_FINDER_H
#define JOBIO_COLLECTOR_MPI_FINDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/mpi/files.h"
#include "common/error.h"
#include "common/mpi.h"

struct mpi_finder;

/* The probe must stay. Returns NULL on out-of-memory. */
struct mpi_finder *mpi_finder_create(struct mpi_probe *probe);
void mpi_finder_destroy(struct mpi_finder *finder); /* detaches; NULL is fine */

/* Attach to libraries before a process maps them: those in the usual directories, in those of
 * `libraries` (as LD_LIBRARY_PATH), and in the lib and lib64 beside those of `programs` (as PATH),
 * where mpirun is. Both may be NULL. */
void mpi_finder_expect(struct mpi_finder *finder, const char *libraries, const char *programs);

/* A process has executed a program. As mpi_exec_f, `arg` is the finder. */
void mpi_finder_exec(uint32_t step, uint32_t pid, uint64_t at_ns, bool known, void *arg);
/* When to call mpi_finder_clean() and mpi_finder_look(), CLOCK_MONOTONIC; UINT64_MAX: not before
 * the next exec. */
uint64_t mpi_finder_due(const struct mpi_finder *finder);
/* Look at one process for which this is due. Returns false if there is none. */
bool mpi_finder_look(struct mpi_finder *finder);
/* Make a look at all processes of a step due: some have not executed a program, or have loaded MPI
 * late. Sorts `pids`. */
void mpi_finder_scan(struct mpi_finder *finder, uint32_t step, uint32_t *pids, size_t n);

/* Detach from files that no step has used for a minute, except those of mpi_finder_expect(). If
 * less than half of the room for processes is left in the programs, make them forget those that
 * have ended. Call it often, after mpi_finder_exec(): only some calls look. */
void mpi_finder_clean(struct mpi_finder *finder);

/* Forget a step and its processes. */
void mpi_finder_forget(struct mpi_finder *finder, uint32_t step);

/* Read the account of a step into *ret, which the caller owns, with what was not covered. May be
 * called by another thread, at the same time as all functions but create and destroy. */
int mpi_finder_read(struct mpi_finder *finder, uint32_t step, struct mpi_account **ret,
                    struct error *error);

#endif
