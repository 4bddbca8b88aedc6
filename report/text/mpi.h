/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI-IO of a job as a table. */
#ifndef JOBIO_REPORT_TEXT_MPI_H
#define JOBIO_REPORT_TEXT_MPI_H

#include <stddef.h>

#include "common/job.h"

/* A line for each class of functions that the job called, and what is missing. At most `columns`
 * wide (0: 80, at least 40). A sentence if MPI was not counted, or not called. Print it after the
 * summary: it starts with an empty line. The full summary has it already if job_has_mpi().
 * malloc'd, NULL: out of memory. */
char *report_mpi_text(const struct job_account *job, size_t columns);

#endif
