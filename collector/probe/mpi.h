/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs that count calls of MPI-IO: loads them, attaches them to libraries, reads the
 * counters. They find steps in the maps of a probe. */
#ifndef JOBIO_COLLECTOR_PROBE_MPI_H
#define JOBIO_COLLECTOR_PROBE_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/mpi_functions.h"
#include "collector/probe/probe.h"
#include "common/error.h"
#include "common/mpi.h"

struct mpi_probe;

/* Load the programs. The probe must outlive them. May raise the limit of this process's
 * descriptors, which its later children inherit. -ENOTSUP: this build or kernel cannot count MPI
 * (it needs Linux 5.15), or the probe is blind. */
int mpi_probe_create(struct mpi_probe **ret, const struct probe *probe, struct error *error);
void mpi_probe_destroy(struct mpi_probe *mpi); /* NULL is fine */

/* Count the step from now on: other steps of the probe are not counted. -E2BIG: too many steps. */
int mpi_probe_add(struct mpi_probe *mpi, uint32_t step, struct error *error);
/* Stop counting the step, and remove its counters. */
void mpi_probe_remove(struct mpi_probe *mpi, uint32_t step);

/* A file that implements MPI: a library, or an executable that has it linked statically. */
struct mpi_file {
    enum mpi_layout layout;
    /* Where the functions start in the file: of PMPI_X, and of MPI_X if that is another address. 0:
     * it has no such function. */
    uint64_t offsets[MPI_FUNCTION_COUNT][2];
};

/* Attach the programs to all functions of the file, for all processes. fd: of the file. The links
 * are owned by the caller, in *ret. On failure nothing is attached. */
struct mpi_links;
int mpi_probe_attach(struct mpi_probe *mpi, int fd, const struct mpi_file *file,
                     struct mpi_links **ret, struct error *error);
/* Detach. NULL is fine. */
void mpi_links_destroy(struct mpi_links *links);

/* Returns a descriptor that is readable when a process of a step has executed a program. Then
 * mpi_probe_execs() reports them. */
int mpi_probe_fd(const struct mpi_probe *mpi);
/* at_ns: when, CLOCK_MONOTONIC. known: mpi_probe_knows() was true until then. */
typedef void (*mpi_exec_f)(uint32_t step, uint32_t pid, uint64_t at_ns, bool known, void *arg);
int mpi_probe_execs(struct mpi_probe *mpi, mpi_exec_f each, void *arg, struct error *error);

/* Returns whether the process was seen to start MPI, or has been reported as not seen. */
bool mpi_probe_knows(const struct mpi_probe *mpi, uint32_t step, uint32_t pid);

/* A process that the programs remember, until its step ends. */
struct mpi_process {
    uint32_t step, pid;
    uint64_t start_ns; /* CLOCK_BOOTTIME */
};
/* List them. *room: how many the programs can remember. free() *ret. */
int mpi_probe_processes(const struct mpi_probe *mpi, struct mpi_process **ret, size_t *n,
                        size_t *room, struct error *error);
/* Make room: forget a process that has ended. One with the same pid that was started later is not
 * forgotten. */
void mpi_probe_forget(struct mpi_probe *mpi, const struct mpi_process *process);

/* Fill in the counters of a step, and add what is missing from them. A call that has not returned
 * is missing. */
int mpi_probe_read(const struct mpi_probe *mpi, uint32_t step, struct mpi_account *ret,
                   struct error *error);

#endif
