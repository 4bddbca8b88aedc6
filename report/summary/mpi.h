/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI-IO of a job in words, as report/summary/summary.h. */
#ifndef JOBIO_REPORT_SUMMARY_MPI_H
#define JOBIO_REPORT_SUMMARY_MPI_H

#include "common/job.h"

/* "MPI-IO took 3.4 h in all processes: 768 collective writes 2.9 h (12.0 GiB), ...". NULL: it cost
 * the job little (job_lost_mpi_time), or out of memory. */
char *summary_mpi(const struct job_account *job);

/* What is missing for one cause: "7 calls whose return was not seen". NULL: out of memory. */
char *summary_mpi_cause(const struct incomplete *item);
/* A cause of its own: the account of the job is not complete. */
#define SUMMARY_MPI_JOB "the account of the job is not complete"

/* What the bytes of an account are not: reads without a status, and calls whose bytes are unknown.
 * NULL: there are none, or out of memory. */
char *summary_mpi_requested(const struct mpi_account *account);
char *summary_mpi_unknown(const struct mpi_account *account);

/* Collective writes, and who wrote for them on the mount with most of it: "4 processes made 12288
 * writes on /scratch, 1.0 MiB on average, for 768 collective writes (12.0 GiB): collective
 * buffering combined them". Only what the numbers prove. NULL: nothing, or out of memory. */
char *summary_mpi_writers(const struct job_account *job);

#endif
