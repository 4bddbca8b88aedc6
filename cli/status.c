/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json-c/json.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/base/outline.h"
#include "cli/base/pager.h"
#include "cli/source/jobiod.h"
#include "cli/base/terminal.h"
#include "common/cleanup.h"

#define COLUMNS_OF_A_FILE 100

static const char help[] =
    "usage: jobio status [--json]\n"
    "Show the state of jobiod on this node: what it counts, its store, its deliveries.\n"
    "\n"
    "      --json         the JSON document\n"
    "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "\n"
    "Examples:\n"
    "  jobio status\n"
    "  jobio status --json\n"
    "\n"
    "Exit status: 0 shown, 1 jobiod is not running or failed, 2 usage.\n";

static int status_show(const struct cli *cli, bool json, struct error *error)
{
    struct json_object *document = NULL;
    int rc = jobiod_status(cli, &document, error);

    if (rc < 0)
        return rc;
    pager_start(cli);
    if (json)
        output_json(document);
    else
        outline_print(document, terminal_bound() ? terminal_bound() : COLUMNS_OF_A_FILE, stdout);
    json_object_put(document);
    return 0;
}

static int status_run(struct cli *cli, int argc, char **argv)
{
    bool json = false;
    const struct option_spec specs[] = {{"json", 0, OPTION_FLAG, &json}};
    struct error error;
    int first, status;

    if (!options_start(cli, &cli_status, specs, ARRAY_SIZE(specs), 0, argc, argv, &first, &status))
        return status;
    if (first < argc) {
        output_error("status: unexpected argument \"%s\" (try 'jobio status --help')", argv[first]);
        return CLI_USAGE;
    }
    if (status_show(cli, json, &error) < 0) {
        output_error("%s", error.text);
        return CLI_FAILED;
    }
    return CLI_OK;
}

const struct subcommand cli_status = {"status", "the state of jobiod on this node", help,
                                      status_run};
