/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sbatch, salloc and srun: runs as the user, before the job exists. */
#include <stdbool.h>
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

static void pass_on(const char *name, const char *word)
{
    if (setenv(name, word, 1) < 0)
        slurm_error("jobio: set %s: out of memory", name);
}

/* A step of srun in an existing allocation gets no summary of its own. */
static void mark_allocation(void)
{
    if (spank_context() != S_CTX_LOCAL)
        return;
    if (!getenv("SLURM_JOB_ID"))
        (void)unsetenv(ALLOCATION_VARIABLE);
    else
        pass_on(ALLOCATION_VARIABLE, "1");
}

static void pass_on_summary(void)
{
    const char *text = getenv(SUMMARY_VARIABLE);
    const char *word = summary_word(text);

    if (!text || option_summary())
        return;
    if (word)
        pass_on(SUMMARY_PASSED_ON, word);
    else
        slurm_error("jobio: " SUMMARY_VARIABLE "=%s is not off, short or full: ignored", text);
}

struct choice {
    const char *variable, *copy;
    const char *(*parse)(const char *text);
    const char *words; /* for people */
};

/* Returns the word that was passed on: that of the option, else that of the variable; NULL: none.
 */
static const char *pass_on_choice(const struct choice *choice, const char *option)
{
    const char *text = getenv(choice->variable);
    const char *word = option ? option : choice->parse(text);

    if (word)
        pass_on(choice->copy, word);
    else if (text)
        slurm_error("jobio: %s=%s is not %s: ignored", choice->variable, text, choice->words);
    return word;
}

/* The prologs of the job get it, too. given: by an option that needs it. */
static void pass_on_mpi(spank_t spank, bool given)
{
    static const struct choice mpi = {MPI_VARIABLE, MPI_PASSED_ON, switch_word, "0 or 1"};
    const char *word = pass_on_choice(&mpi, given ? "1" : NULL);

    if (word)
        (void)spank_job_control_setenv(spank, MPI_VARIABLE, word, 1);
}

static void pass_on_switches(spank_t spank)
{
    static const struct choice trace = {TRACE_VARIABLE, TRACE_PASSED_ON, trace_word,
                                        "0, 1, " TRACE_WORDS};
    static const struct choice stacks = {STACKS_VARIABLE, STACKS_PASSED_ON, switch_word, "0 or 1"};
    const char *word = pass_on_choice(&trace, option_trace());

    (void)pass_on_choice(&stacks, option_stacks() ? "1" : NULL);
    pass_on_mpi(spank, option_mpi() || (word && trace_word_of_mpi(word)));
}

void submit_options_known(spank_t spank)
{
    mark_allocation();
    pass_on_summary();
    pass_on_switches(spank);
}
