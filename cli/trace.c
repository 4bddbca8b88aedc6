/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/base/jobid.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/source/jobiod.h"
#include "common/cleanup.h"

static const char help[] =
    "usage: jobio trace ID[.STEP] --output FILE [--format FORMAT]\n"
    "Write the trace of a job that was submitted with --io-trace: its slowest I/O requests on "
    "this\n"
    "node as spans of time. Steps are in it when they have ended.\n"
    "\n"
    "  -o, --output FILE  write it to this file; - is the standard output\n"
    "      --format NAME  otlp (JSON, the default) or chrome (for Chrome and Perfetto)\n"
    "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "\n"
    "Examples:\n"
    "  jobio trace 123 --output trace.json\n"
    "  jobio trace 123.0 --format chrome -o trace.json\n"
    "\n"
    "Exit status: 0 written, 1 there is no trace or failed, 2 usage.\n";

struct trace_options {
    const char *output, *format;
    struct jobid id;
};

static int check_options(struct trace_options *options, int n, char **words, struct error *error)
{
    if (n != 1)
        return error_set(error, -EINVAL, "give one job");
    if (!options->output)
        return error_set(error, -EINVAL, "give a file with --output");
    if (options->format && strcmp(options->format, "otlp") && strcmp(options->format, "chrome"))
        return error_set(error, -EINVAL, "--format is otlp or chrome, not \"%.100s\"",
                         options->format);
    return jobid_parse(words[0], &options->id, error);
}

/* A file that is written completely or not at all would need its directory to be writable. */
static int write_text(const char *path, const char *text, struct error *error)
{
    FILE *out;
    int r = 0;

    if (!strcmp(path, "-")) {
        output_text(text);
        return 0;
    }
    out = fopen(path, "we");
    if (!out)
        return error_errno(error, -errno, "open \"%s\"", path);
    if (fputs(text, out) < 0)
        r = -errno;
    if (fclose(out) != 0 && r == 0)
        r = -errno;
    return r < 0 ? error_errno(error, r, "write \"%s\"", path) : 0;
}

static int trace_run(struct cli *cli, int argc, char **argv)
{
    struct trace_options options = {NULL};
    const struct option_spec specs[] = {{"output", 'o', OPTION_TEXT, &options.output},
                                        {"format", 0, OPTION_TEXT, &options.format}};
    _free_ char *text = NULL;
    struct error error;
    char id[JOBID_TEXT];
    int first, status;

    if (!options_start(cli, &cli_trace, specs, ARRAY_SIZE(specs), 0, argc, argv, &first, &status))
        return status;
    if (check_options(&options, argc - first, argv + first, &error) < 0) {
        output_error("trace: %s (try 'jobio trace --help')", error.text);
        return CLI_USAGE;
    }
    if (jobiod_trace(cli, &options.id, options.format, &text, &error) < 0) {
        output_error("trace: job %s: %s", jobid_format(&options.id, id), error.text);
        return CLI_FAILED;
    }
    if (write_text(options.output, text, &error) < 0) {
        output_error("trace: %s", error.text);
        return CLI_FAILED;
    }
    return CLI_OK;
}

const struct subcommand cli_trace = {"trace", "the slowest requests of a job as spans of time",
                                     help, trace_run};
