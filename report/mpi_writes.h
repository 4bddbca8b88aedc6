/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writes of MPI-IO of a job, and how much of them each mount received. Pure functions. */
#ifndef JOBIO_REPORT_MPI_WRITES_H
#define JOBIO_REPORT_MPI_WRITES_H

#include "common/job.h"

enum mpi_writes_kind { MPI_WRITES_COLLECTIVE, MPI_WRITES_INDEPENDENT, MPI_WRITES_KINDS };

struct mpi_writes {
    uint64_t calls; /* of all processes, those that wrote more than one byte */
    uint64_t bytes;
    double threads; /* inside these calls, on average over the run time */
    uint64_t other; /* bytes that the job wrote otherwise, at most */
};

/* Returns false if there were none, or if something about them is unknown: they or the account of
 * the job are incomplete, or they did not write through the kernel. */
bool mpi_writes_of(const struct job_account *job, enum mpi_writes_kind kind,
                   struct mpi_writes *ret);
/* The part of the bytes written on the mount that these calls wrote, at least. MPI-IO is not
 * counted by mount: everything that was written otherwise may be on this one. 0 if another mount
 * may have received more than a tenth of what the calls wrote, because they are not known by mount.
 */
double mpi_writes_share(const struct mpi_writes *writes, const struct io_mount *mount);
/* From this share on, the requests on a mount are those of these calls. */
#define MPI_WRITES_SHARE 0.9

#endif
