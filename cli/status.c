/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/outline.h"
#include "cli/base/pager.h"
#include "cli/source/jobiod.h"
#include "cli/status_all.h"
#include "cli/status_verdict.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"

#define COLUMNS_OF_A_FILE 100

static const char help[] =
    "usage: jobio status [--all] [--full | --json]\n"
    "Show in one line whether jobiod on this node counts, and why if something is wrong.\n"
    "\n"
    "      --all          all nodes of the cluster, in one table\n"
    "      --full         also all that jobiod reports: hooks, queues, store, deliveries\n"
    "                     with --all: the name of every node\n"
    "      --json         the JSON document; with --all an array\n"
    "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "\n"
    "Examples:\n"
    "  jobio status\n"
    "  jobio status --full\n"
    "  jobio status --json\n"
    "  jobio status --all\n"
    "\n"
    "Exit status: 0 ok, 1 degraded, 2 not counting or jobiod is not running, 3 unknown, usage.\n"
    "With --json: 0 printed, 1 jobiod is not running or failed, 3 usage.\n";

struct status_options {
    bool all, json, full;
};

/* Returns the exit status. */
static int print_status(struct json_object *document, const struct status_options *options)
{
    enum verdict verdict;

    if (options->json) {
        output_json(document);
        return CLI_OK;
    }
    verdict = status_verdict_print(document, stdout);
    if (options->full) {
        (void)putchar('\n');
        outline_print(document, terminal_bound() ? terminal_bound() : COLUMNS_OF_A_FILE, stdout);
    }
    return (int)verdict;
}

/* Returns the exit status. */
static int status_show(const struct cli *cli, const struct status_options *options)
{
    struct json_object *document = NULL;
    struct error error;
    int status, rc = jobiod_status(cli, &document, &error);

    if (rc < 0 && options->json) {
        output_error("%s", error.text);
        return CLI_FAILED;
    }
    if (rc < 0) {
        /* On standard output, where monitoring systems read the line of a plugin. */
        status = jobiod_is_absent(rc) ? VERDICT_NOT_COUNTING : VERDICT_UNKNOWN;
        (void)printf("%s: %s\n", status_verdict_name(status), error.text);
        return status;
    }
    pager_start(cli);
    status = print_status(document, options);
    json_object_put(document);
    return status;
}

static int status_run(struct cli *cli, int argc, char **argv)
{
    struct status_options options = {0};
    const struct option_spec specs[] = {{"all", 0, OPTION_FLAG, &options.all},
                                        {"full", 0, OPTION_FLAG, &options.full},
                                        {"json", 0, OPTION_FLAG, &options.json}};
    int first, status;

    if (!options_start(cli, &cli_status, specs, ARRAY_SIZE(specs), 0, argc, argv, &first, &status))
        return status == CLI_USAGE ? VERDICT_UNKNOWN : status;
    if (first < argc) {
        output_error("status: unexpected argument \"%s\" (try 'jobio status --help')", argv[first]);
        return VERDICT_UNKNOWN;
    }
    if (options.full && options.json) {
        output_error("status: give one of --full and --json (try 'jobio status --help')");
        return VERDICT_UNKNOWN;
    }
    return options.all ? status_all(cli, options.full, options.json) : status_show(cli, &options);
}

const struct subcommand cli_status = {"status", "the state of jobiod on this node", help,
                                      status_run};
