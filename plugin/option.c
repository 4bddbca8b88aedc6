/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/option.h"

#include "plugin/settings.h"

static const char *summary;

/* slurmstepd calls it more than once for some steps. Only the submitting command may reject a
 * value: the plugin never fails a running job. */
static int set_summary(int value, const char *text, int remote)
{
    const char *word = summary_word(text);

    (void)value;
    if (word)
        summary = word;
    if (word || remote)
        return ESPANK_SUCCESS;
    slurm_error("jobio: --" SUMMARY_OPTION "=%s is not off, short or full", text ? text : "");
    return ESPANK_BAD_ARG;
}

void option_register(spank_t spank)
{
    static struct spank_option option = {
        .name = (char *)SUMMARY_OPTION,
        .arginfo = (char *)"off|short|full",
        .usage = (char *)"append a summary of the job's I/O to its output",
        .has_arg = 1,
        .cb = set_summary,
    };
    spank_err_t r = spank_option_register(spank, &option);

    if (r != ESPANK_SUCCESS)
        slurm_error("jobio: register --" SUMMARY_OPTION ": error %d", (int)r);
}

const char *option_summary(void)
{
    return summary;
}
