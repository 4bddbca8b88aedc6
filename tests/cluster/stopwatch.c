/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A SPANK plugin that notes when the hooks of a node are called. plugstack.conf lists it before and
 * after jobio.so (two copies): the time between the two lines of a hook is the time that jobio.so
 * took.
 *
 * Arguments: a label, and the file to which it appends lines "NS HOOK JOB PID LABEL", with NS of
 * CLOCK_MONOTONIC.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <slurm/spank.h>

SPANK_PLUGIN(stopwatch, 1)

static int note(spank_t spank, int ac, char *av[], const char *hook)
{
    struct timespec now;
    uint32_t job = 0;
    int fd;

    if (ac != 2 || (spank_context() != S_CTX_REMOTE && spank_context() != S_CTX_JOB_SCRIPT))
        return ESPANK_SUCCESS;
    (void)spank_get_item(spank, S_JOB_ID, &job);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    fd = open(av[1], O_WRONLY | O_APPEND | O_CLOEXEC);
    if (fd < 0)
        return ESPANK_SUCCESS;
    (void)dprintf(fd, "%lld%09ld %s %u %d %s\n", (long long)now.tv_sec, now.tv_nsec, hook, job,
                  (int)getpid(), av[0]);
    (void)close(fd);
    return ESPANK_SUCCESS;
}

int slurm_spank_job_prolog(spank_t spank, int ac, char *av[])
{
    return note(spank, ac, av, "job_prolog");
}

int slurm_spank_init_post_opt(spank_t spank, int ac, char *av[])
{
    return note(spank, ac, av, "init_post_opt");
}

int slurm_spank_task_post_fork(spank_t spank, int ac, char *av[])
{
    return note(spank, ac, av, "task_post_fork");
}

int slurm_spank_task_exit(spank_t spank, int ac, char *av[])
{
    return note(spank, ac, av, "task_exit");
}

int slurm_spank_exit(spank_t spank, int ac, char *av[])
{
    return note(spank, ac, av, "exit");
}

int slurm_spank_job_epilog(spank_t spank, int ac, char *av[])
{
    return note(spank, ac, av, "job_epilog");
}
