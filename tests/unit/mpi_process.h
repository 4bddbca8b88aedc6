/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process with an MPI, for tests. */
#ifndef JOBIO_TESTS_UNIT_MPI_PROCESS_H
#define JOBIO_TESTS_UNIT_MPI_PROCESS_H

#include <sys/types.h>

/* Returns a child that sleeps and has an MPI mapped: a copy of the test itself, in which two
 * functions have the names of MPI. Fails the test on errors. */
pid_t start_with_mpi(void);

#endif
