/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sbatch, salloc and srun: runs as the user, before the job exists. */
#include <stdlib.h>

#include "plugin/settings.h"
#include "plugin/contexts.h"
#include "plugin/option.h"

static void complain(const char *word, const char *reason)
{
    slurm_error("jobio: plugstack.conf: \"%s\" %s", word, reason);
}

/* The output of srun in a job belongs to the user, who saw the line when submitting the job. */
static void complain_unless_in_job(const char *word, const char *reason)
{
    if (spank_context() != S_CTX_LOCAL || !getenv("SLURM_JOB_ID"))
        complain(word, reason);
}

void submit_init(spank_t spank, int ac, char *av[])
{
    struct settings settings;

    settings_read(&settings, ac, av, NULL, complain_unless_in_job);
    option_register(spank);
}

/* A step of srun in an existing allocation gets no summary of its own. */
static void mark_allocation(void)
{
    if (spank_context() != S_CTX_LOCAL)
        return;
    if (!getenv("SLURM_JOB_ID"))
        (void)unsetenv(ALLOCATION_VARIABLE);
    else if (setenv(ALLOCATION_VARIABLE, "1", 1) < 0)
        slurm_error("jobio: set " ALLOCATION_VARIABLE ": out of memory");
}

void submit_options_known(void)
{
    const char *text = getenv(OPTION_VARIABLE);
    const char *word = summary_word(text);

    mark_allocation();
    if (!text || option_given())
        return;
    if (!word)
        slurm_error("jobio: " OPTION_VARIABLE "=%s is not off, short or full: ignored", text);
    else if (setenv(OPTION_PASSED_ON, word, 1) < 0)
        slurm_error("jobio: set " OPTION_PASSED_ON ": out of memory");
}
