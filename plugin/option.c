/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/option.h"

#include "plugin/settings.h"

static const char *given;

/* slurmstepd calls it more than once for some steps. Only the command that the user typed may
 * refuse a word: a job that runs is never failed. */
static int take(int value, const char *text, int remote)
{
    const char *word = summary_word(text);

    (void)value;
    if (word)
        given = word;
    if (word || remote)
        return ESPANK_SUCCESS;
    slurm_error("jobio: --" OPTION_NAME "=%s is not off, short or full", text ? text : "");
    return ESPANK_BAD_ARG;
}

void option_register(spank_t spank)
{
    static struct spank_option option = {
        .name = (char *)OPTION_NAME,
        .arginfo = (char *)"off|short|full",
        .usage = (char *)"the job's output ends with a summary of its I/O",
        .has_arg = 1,
        .cb = take,
    };
    spank_err_t r = spank_option_register(spank, &option);

    if (r != ESPANK_SUCCESS)
        slurm_error("jobio: register --" OPTION_NAME ": error %d", (int)r);
}

const char *option_given(void)
{
    return given;
}
