/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of MPI in an ELF file. */
#ifndef JOBIO_COLLECTOR_MPI_LIBRARY_H
#define JOBIO_COLLECTOR_MPI_LIBRARY_H

#include "collector/probe/mpi.h"
#include "common/error.h"

/* Look for an implementation of MPI-IO, in a library or linked statically, by its symbols. The
 * wrappers of tools, which define MPI_X but not PMPI_X, and those for Fortran are none. Returns 1
 * if *ret describes one, 0 if the file has none, or -ENOTSUP if it has one whose types are not
 * known, or whose symbols are stripped, cannot be found, or are not in its code; other errors if
 * it cannot be read. */
int mpi_library_read(int fd, struct mpi_file *ret, struct error *error);

#endif
