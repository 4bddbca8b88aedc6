/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options --io-summary and --io-mpi of sbatch, salloc and srun. */
#ifndef JOBIO_PLUGIN_OPTION_H
#define JOBIO_PLUGIN_OPTION_H

#include <stdbool.h>

#include <slurm/spank.h>

#define SUMMARY_OPTION "io-summary"
#define MPI_OPTION "io-mpi"
/* The variables with which users choose if they do not give the option. */
#define SUMMARY_VARIABLE "JOBIO_SUMMARY"
#define MPI_VARIABLE "JOBIO_MPI"
/* The copies that the submitting command makes: `--export=NONE` keeps only names with SLURM. That
 * of MPI is made for the option, too. */
#define SUMMARY_PASSED_ON "SLURM_JOBIO_SUMMARY"
#define MPI_PASSED_ON "SLURM_JOBIO_MPI"
/* The copy in the environment of the prolog: Slurm puts SPANK_ before its name. */
#define MPI_PROLOG_VARIABLE "SPANK_" MPI_VARIABLE

/* srun sets it for its steps if it runs in an allocation that it did not make. */
#define ALLOCATION_VARIABLE "SLURM_JOBIO_ALLOCATION"
/* The log level of srun: below 3 with --quiet. */
#define SRUN_LEVEL_VARIABLE "SRUN_DEBUG"
#define SRUN_LEVEL_INFO 3

/* Only valid in slurm_spank_init. */
void option_register(spank_t spank);

/* Returns the "off", "short" or "full" of --io-summary; NULL if it was not given. */
const char *option_summary(void);
/* Whether --io-mpi was given. */
bool option_mpi(void);

/* Returns "0" or "1", a value of the variables of MPI, as a constant; NULL for another word or
 * NULL. */
const char *mpi_word(const char *text);

#endif
