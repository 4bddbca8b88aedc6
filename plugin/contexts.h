/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hooks of each SPANK context; one file per context. They never fail: errors are logged. */
#ifndef JOBIO_PLUGIN_CONTEXTS_H
#define JOBIO_PLUGIN_CONTEXTS_H

#include <slurm/spank.h>

/* sbatch, salloc, srun. */
void submit_init(spank_t spank, int ac, char *av[]);
void submit_options_known(spank_t spank);

/* slurmstepd. */
void stepd_init(spank_t spank, int ac, char *av[]);
void stepd_begin(spank_t spank);
void stepd_task(spank_t spank);
void stepd_task_exit(spank_t spank);
void stepd_end(spank_t spank);

/* slurmd, and its prolog and epilog. */
void slurmd_init(int ac, char *av[]);
void slurmd_prolog(spank_t spank, int ac, char *av[]);
void slurmd_epilog(spank_t spank, int ac, char *av[]);

#endif
