/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files that processes have mapped to execute them: which are MPI, and the probes on these. */
#ifndef JOBIO_COLLECTOR_MPI_FILES_H
#define JOBIO_COLLECTOR_MPI_FILES_H

#include <stdint.h>

#include "collector/probe/mpi.h"
#include "common/error.h"

struct mpi_files;

/* A file that implements MPI, or that may, because it cannot be read. */
struct mpi_found {
    const char *name;     /* without its directory */
    uint64_t attached_ns; /* CLOCK_MONOTONIC: calls that started later are counted; 0: none is */
    const char *why;      /* not attached; "" otherwise */
};

/* The probe must stay. Returns NULL on out-of-memory. */
struct mpi_files *mpi_files_create(struct mpi_probe *probe);
void mpi_files_destroy(struct mpi_files *files); /* detaches; NULL is fine */

/* Look at an open file, whose path is for messages only, and attach to it if it is MPI. It is read
 * once, however often it is asked for. Returns NULL if it is not MPI. The result belongs to
 * `files`, and stays while the step uses it. Step 0: always. */
const struct mpi_found *mpi_files_look(struct mpi_files *files, int fd, const char *path,
                                       uint32_t step);

/* The step uses no file any more. */
void mpi_files_forget(struct mpi_files *files, uint32_t step);
/* Detach, in the background, from the files that no step has used for a minute. Their probes would
 * keep their file systems mounted. */
void mpi_files_detach_unused(struct mpi_files *files);
/* When to call that, CLOCK_MONOTONIC; UINT64_MAX: not before another step is forgotten. */
uint64_t mpi_files_due(const struct mpi_files *files);

/* List the files that are MPI; returns NULL at the end. */
const struct mpi_found *mpi_files_list(const struct mpi_files *files, size_t *at);

#endif
