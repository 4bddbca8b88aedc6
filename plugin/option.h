/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --io-summary of sbatch, salloc and srun. */
#ifndef JOBIO_PLUGIN_OPTION_H
#define JOBIO_PLUGIN_OPTION_H

#include <slurm/spank.h>

#define SUMMARY_OPTION "io-summary"
/* The variable with which users choose the summary if they do not give the option. */
#define SUMMARY_VARIABLE "JOBIO_SUMMARY"
/* The copy that the submitting command makes: `--export=NONE` keeps only names with SLURM. */
#define SUMMARY_PASSED_ON "SLURM_JOBIO_SUMMARY"

/* srun sets it for its steps if it runs in an allocation that it did not make. */
#define ALLOCATION_VARIABLE "SLURM_JOBIO_ALLOCATION"
/* The log level of srun: below 3 with --quiet. */
#define SRUN_LEVEL_VARIABLE "SRUN_DEBUG"
#define SRUN_LEVEL_INFO 3

/* Only valid in slurm_spank_init. */
void option_register(spank_t spank);

/* Returns the "off", "short" or "full" of --io-summary; NULL if it was not given. */
const char *option_summary(void);

#endif
