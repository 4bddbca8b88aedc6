/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "plugin/option.h"

#include <string.h>

#include "common/cleanup.h"
#include "plugin/settings.h"

static const char *summary;
static bool mpi, stacks;
static const char *trace;

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

static int set_mpi(int value, const char *text, int remote)
{
    (void)value;
    (void)text;
    (void)remote;
    mpi = true;
    return ESPANK_SUCCESS;
}

static int set_stacks(int value, const char *text, int remote)
{
    (void)value;
    (void)text;
    (void)remote;
    stacks = true;
    return ESPANK_SUCCESS;
}

/* Slurm passes an option without a value on as NULL, "" or, to srun in a batch job, "(null)". The
 * words of a switch are only for the variable. */
static const char *trace_option_word(const char *text)
{
    if (!text || !*text || strcmp(text, "(null)") == 0)
        return "1";
    return switch_word(text) ? NULL : trace_word(text);
}

static int set_trace(int value, const char *text, int remote)
{
    const char *word = trace_option_word(text);

    (void)value;
    if (word)
        trace = word;
    if (word || remote)
        return ESPANK_SUCCESS;
    slurm_error("jobio: --" TRACE_OPTION "=%s is not " TRACE_WORDS, text);
    return ESPANK_BAD_ARG;
}

static void register_one(spank_t spank, struct spank_option *option)
{
    spank_err_t r = spank_option_register(spank, option);

    if (r != ESPANK_SUCCESS)
        slurm_error("jobio: register --%s: error %d", option->name, (int)r);
}

void option_register(spank_t spank)
{
    static struct spank_option summary_option = {
        .name = (char *)SUMMARY_OPTION,
        .arginfo = (char *)"off|short|full",
        .usage = (char *)"append a summary of the job's I/O to its output",
        .has_arg = 1,
        .cb = set_summary,
    };
    static struct spank_option mpi_option = {
        .name = (char *)MPI_OPTION,
        .usage = (char *)"also count the calls of MPI-IO of the job",
        .cb = set_mpi,
    };
    static struct spank_option stacks_option = {
        .name = (char *)STACKS_OPTION,
        .usage = (char *)"also record which code of the job waits for I/O",
        .cb = set_stacks,
    };
    static struct spank_option trace_option = {
        .name = (char *)TRACE_OPTION,
        .arginfo = (char *)"ops|mpi[,paths]",
        .usage = (char *)"also record the slowest I/O requests of the job as a trace; mpi: only "
                         "its calls of MPI-IO; paths: with the paths of files that are opened",
        .has_arg = 2, /* optional */
        .cb = set_trace,
    };

    register_one(spank, &summary_option);
    register_one(spank, &mpi_option);
    register_one(spank, &stacks_option);
    register_one(spank, &trace_option);
}

const char *option_summary(void)
{
    return summary;
}

bool option_mpi(void)
{
    return mpi;
}

bool option_stacks(void)
{
    return stacks;
}

const char *option_trace(void)
{
    return trace;
}

const char *switch_word(const char *text)
{
    if (!text || (strcmp(text, "0") != 0 && strcmp(text, "1") != 0))
        return NULL;
    return *text == '1' ? "1" : "0";
}

const char *trace_word(const char *text)
{
    static const struct {
        const char *text, *word;
    } words[] = {
        {"0", "0"},
        {"1", "1"},
        {"ops", "1"},
        {TRACE_MPI_WORD, TRACE_MPI_WORD},
        {"ops" TRACE_PATHS_WORD, "ops" TRACE_PATHS_WORD},
        {TRACE_MPI_WORD TRACE_PATHS_WORD, TRACE_MPI_WORD TRACE_PATHS_WORD},
    };

    for (size_t i = 0; text && i < ARRAY_SIZE(words); i++) {
        if (strcmp(text, words[i].text) == 0)
            return words[i].word;
    }
    return NULL;
}

bool trace_word_of_mpi(const char *word)
{
    return strncmp(word, TRACE_MPI_WORD, strlen(TRACE_MPI_WORD)) == 0;
}

bool trace_word_has_paths(const char *word)
{
    return strstr(word, TRACE_PATHS_WORD) != NULL;
}
