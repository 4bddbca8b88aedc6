/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options --io-summary, --io-mpi, --io-stacks and --io-trace of sbatch, salloc and srun. */
#ifndef JOBIO_PLUGIN_OPTION_H
#define JOBIO_PLUGIN_OPTION_H

#include <stdbool.h>

#include <slurm/spank.h>

#define SUMMARY_OPTION "io-summary"
#define MPI_OPTION "io-mpi"
#define STACKS_OPTION "io-stacks"
#define TRACE_OPTION "io-trace"
/* The variables with which users choose if they do not give the option. */
#define SUMMARY_VARIABLE "JOBIO_SUMMARY"
#define MPI_VARIABLE "JOBIO_MPI"
#define STACKS_VARIABLE "JOBIO_STACKS"
#define TRACE_VARIABLE "JOBIO_TRACE"
/* The copies that the submitting command makes: `--export=NONE` keeps only names with SLURM. Those
 * of MPI, STACKS and TRACE are made for the option, too. */
#define SUMMARY_PASSED_ON "SLURM_JOBIO_SUMMARY"
#define MPI_PASSED_ON "SLURM_JOBIO_MPI"
#define STACKS_PASSED_ON "SLURM_JOBIO_STACKS"
#define TRACE_PASSED_ON "SLURM_JOBIO_TRACE"
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
/* Whether --io-stacks was given. */
bool option_stacks(void);
/* Returns trace_word() of --io-trace; NULL if it was not given. */
const char *option_trace(void);

/* Returns "0" or "1", a value of JOBIO_MPI and JOBIO_STACKS, as a constant; NULL for another word
 * or NULL. */
const char *switch_word(const char *text);
/* The same for JOBIO_TRACE: "0", "1", TRACE_MPI_WORD, and the latter two with TRACE_PATHS_WORD.
 * Returns "1" for "ops": earlier versions of the plugin on the nodes of the job know only that. */
const char *trace_word(const char *text);
#define TRACE_MPI_WORD "mpi" /* trace only calls of MPI-IO */
#define TRACE_PATHS_WORD ",paths"
#define TRACE_WORDS "ops, mpi, ops,paths or mpi,paths" /* for people: those of the option */
/* What a trace_word() other than "0" asks for. */
bool trace_word_of_mpi(const char *word);
bool trace_word_has_paths(const char *word);

#endif
