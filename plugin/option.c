/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/option.h"

#include "plugin/settings.h"

static const char *given;

/* slurmstepd calls it more than once for some steps. Only the submitting command may reject a
 * value: the plugin never fails a running job. */
static int set_option(int value, const char *text, int remote)
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
        .usage = (char *)"append a summary of the job's I/O to its output",
        .has_arg = 1,
        .cb = set_option,
    };
    spank_err_t r = spank_option_register(spank, &option);

    if (r != ESPANK_SUCCESS)
        slurm_error("jobio: register --" OPTION_NAME ": error %d", (int)r);
}

const char *option_given(void)
{
    return given;
}
