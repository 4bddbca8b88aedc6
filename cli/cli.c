/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "cli/cli.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/jobid.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/explain/explain.h"
#include "cli/run/run.h"
#include "cli/top/screen.h"
#include "cli/top/top.h"
#include "collector/stacks/recorder.h"
#include "collector/versions/versions.h"
#include "common/call.h"
#include "common/cleanup.h"
#include "common/credential.h"
#include "common/text.h"

#define SOCKET_DEFAULT JOBIO_RUNTIME_DIR "/" JOBIO_SOCKET_NAME

static const struct subcommand *const subcommands[] = {
    &cli_job,     &cli_history, &cli_top,   &cli_array,  &cli_compare, &cli_trend,
    &cli_explain, &cli_advise,  &cli_trace, &cli_status, &cli_run,     &cli_retire,
};

static void print_help(void)
{
    output_text("usage: jobio SUBCOMMAND [OPTION]...\n"
                "       jobio ID [OPTION]...     the same as jobio job ID\n"
                "Show the I/O of jobs and commands, by mount and operation, exact to the byte.\n"
                "\n");
    for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
        (void)printf("  %-9s %s\n", subcommands[i]->name, subcommands[i]->summary);
    output_text("  help      help for a subcommand\n"
                "\n"
                "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else " SOCKET_DEFAULT ")\n"
                "      --store PATH   read this store instead of asking jobiod\n"
                "      --no-pager     do not use a pager for long output\n"
                "      --version      print the version; with --verbose also of the libraries\n"
                "\n"
                "Examples:\n"
                "  jobio 123\n"
                "  jobio history -S now-1days\n"
                "  jobio run -- tar -czf /tmp/default.tgz /etc/default\n"
                "  jobio help history\n"
                "\n"
                "Exit status: 0 success, 1 nothing found or failed, 2 usage; 'jobio run' returns "
                "that of its command.\n");
}

/* NULL: unknown name. */
static const struct subcommand *find(const char *name)
{
    for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++) {
        if (strcmp(subcommands[i]->name, name) == 0)
            return subcommands[i];
    }
    return NULL;
}

static int unknown(const char *name)
{
    struct text_nearest nearest = {.word = name, .n = strlen(name)};
    char hint[TEXT_HINT_SIZE];

    for (size_t i = 0; i < ARRAY_SIZE(subcommands); i++)
        text_nearest_try(&nearest, subcommands[i]->name);
    text_nearest_try(&nearest, "help");
    output_error("unknown subcommand \"%s\"%s (try 'jobio --help')", name,
                 text_nearest_hint(&nearest, hint));
    return CLI_USAGE;
}

/* "jobio 123" is "jobio job 123". */
static bool is_job(const char *word)
{
    struct error error;
    struct jobid id;

    return jobid_parse(word, &id, &error) == 0;
}

/* The whole command line of a subcommand that was not named; argv[0] becomes its name. */
static int run_job(struct cli *cli, int argc, char **argv)
{
    char **words = calloc((size_t)argc + 2, sizeof(*words));
    int status;

    if (!words) {
        output_error("out of memory");
        return CLI_FAILED;
    }
    words[0] = (char *)cli_job.name;
    memcpy(words + 1, argv, (size_t)argc * sizeof(*words));
    status = cli_job.run(cli, argc + 1, words);
    free(words);
    return status;
}

static int help_run(int argc, char **argv)
{
    const struct subcommand *sub;

    if (argc < 2) {
        print_help();
        return CLI_OK;
    }
    sub = find(argv[1]);
    if (!sub)
        return unknown(argv[1]);
    output_text(sub->help);
    return CLI_OK;
}

/* argv[0] is the first argument after the global options. */
static int dispatch(struct cli *cli, int argc, char **argv)
{
    const struct subcommand *sub;

    if (argc < 1) {
        output_error("no subcommand (try 'jobio --help')");
        return CLI_USAGE;
    }
    if (strcmp(argv[0], "help") == 0)
        return help_run(argc, argv);
    sub = find(argv[0]);
    if (!sub && is_job(argv[0]))
        return run_job(cli, argc, argv);
    return sub ? sub->run(cli, argc, argv) : unknown(argv[0]);
}

static int print_version(bool verbose)
{
    output_text(PACKAGE_STRING "\n");
    if (verbose) {
        versions_print(stdout);
        versions_print_file(stdout, "libmunge", BUILT_MUNGE, credential_library());
        versions_print_line(stdout, "libdw", stack_recorder_built(), stack_recorder_running());
        versions_print_line(stdout, "ncurses", top_screen_built(), top_screen_running());
    }
    return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
    bool version = false, verbose = false;
    const struct option_spec specs[] = {{"version", 'V', OPTION_FLAG, &version},
                                        {"verbose", 0, OPTION_FLAG, &verbose}};
    struct error error;
    int first = options_parse(cli, specs, ARRAY_SIZE(specs), OPTIONS_IN_ORDER, argc, argv, &error);

    if (first == -ECANCELED) {
        print_help();
        return CLI_OK;
    }
    if (first < 0) {
        output_error("%s (try 'jobio --help')", error.text);
        return CLI_USAGE;
    }
    if (version)
        return print_version(verbose);
    if (verbose) {
        output_error("--verbose is for --version (try 'jobio --help')");
        return CLI_USAGE;
    }
    return dispatch(cli, argc - first, argv + first);
}

int cli_main(int argc, char **argv)
{
    const char *from_environment = secure_getenv("JOBIO_SOCKET");
    struct cli cli = {
        .socket = from_environment && *from_environment ? from_environment : SOCKET_DEFAULT,
    };

    (void)setlocale(LC_CTYPE, ""); /* for terminal_utf8(); numbers stay as they are */
    output_set_stream(stdout);
    return output_finish(run(&cli, argc, argv));
}
