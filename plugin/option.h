/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --io-summary of sbatch, salloc and srun. */
#ifndef JOBIO_PLUGIN_OPTION_H
#define JOBIO_PLUGIN_OPTION_H

#include <slurm/spank.h>

#define OPTION_NAME "io-summary"
/* The user's wish without the option. */
#define OPTION_VARIABLE "JOBIO_SUMMARY"
/* The same as the submitting command passes it on: `--export=NONE` keeps names with SLURM only. */
#define OPTION_PASSED_ON "SLURM_JOBIO_SUMMARY"

/* In slurm_spank_init only. */
void option_register(spank_t spank);

/* "off", "short" or "full", if the user gave the option; NULL if not. */
const char *option_given(void);

#endif
