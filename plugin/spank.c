/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/contexts.h"

SPANK_PLUGIN(jobio, 1)

int slurm_spank_init(spank_t spank, int ac, char *av[])
{
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        submit_init(spank, ac, av);
        break;
    case S_CTX_REMOTE:
        stepd_init(spank, ac, av);
        break;
    case S_CTX_SLURMD:
        slurmd_init(ac, av);
        break;
    default:
        break;
    }
    return ESPANK_SUCCESS;
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char *av[])
{
    (void)ac;
    (void)av;
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        submit_options_known(spank);
        break;
    case S_CTX_REMOTE:
        stepd_begin(spank);
        break;
    default:
        break;
    }
    return ESPANK_SUCCESS;
}

int slurm_spank_task_post_fork(spank_t spank, int ac, char *av[])
{
    (void)ac;
    (void)av;
    if (spank_context() == S_CTX_REMOTE)
        stepd_task(spank);
    return ESPANK_SUCCESS;
}

int slurm_spank_task_exit(spank_t spank, int ac, char *av[])
{
    (void)ac;
    (void)av;
    if (spank_context() == S_CTX_REMOTE)
        stepd_task_exit(spank);
    return ESPANK_SUCCESS;
}

int slurm_spank_exit(spank_t spank, int ac, char *av[])
{
    (void)ac;
    (void)av;
    if (spank_context() == S_CTX_REMOTE)
        stepd_end(spank);
    return ESPANK_SUCCESS;
}

int slurm_spank_job_prolog(spank_t spank, int ac, char *av[])
{
    if (spank_context() == S_CTX_JOB_SCRIPT)
        slurmd_prolog(spank, ac, av);
    return ESPANK_SUCCESS;
}

int slurm_spank_job_epilog(spank_t spank, int ac, char *av[])
{
    if (spank_context() == S_CTX_JOB_SCRIPT)
        slurmd_epilog(spank, ac, av);
    return ESPANK_SUCCESS;
}
