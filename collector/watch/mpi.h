/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI-IO of a watched command. */
#ifndef JOBIO_COLLECTOR_WATCH_MPI_H
#define JOBIO_COLLECTOR_WATCH_MPI_H

#include <stdint.h>

#include "collector/probe/probe.h"
#include "collector/watch/cgroup.h"
#include "common/error.h"
#include "common/mpi.h"

struct watch_mpi;

/* The probe and the cgroup must stay. Errors of mpi_probe_create(). */
int watch_mpi_create(struct watch_mpi **ret, const struct probe *probe, const struct cgroup *cgroup,
                     struct error *error);
void watch_mpi_destroy(struct watch_mpi *mpi); /* NULL is fine */

/* Count the step. NULL is fine. */
int watch_mpi_start(struct watch_mpi *mpi, uint32_t step, struct error *error);

/* Returns a descriptor; when it is readable, or it is this time (CLOCK_MONOTONIC), call
 * watch_mpi_look(). Both accept NULL: -1 and UINT64_MAX. */
int watch_mpi_fd(const struct watch_mpi *mpi);
uint64_t watch_mpi_due(const struct watch_mpi *mpi);
int watch_mpi_look(struct watch_mpi *mpi, struct error *error);
/* Look at all processes. */
void watch_mpi_scan(struct watch_mpi *mpi, uint32_t step);
/* Read the account of the step into *ret, which the caller owns. */
int watch_mpi_read(struct watch_mpi *mpi, uint32_t step, struct mpi_account **ret,
                   struct error *error);

#endif
