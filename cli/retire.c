/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/base/options.h"
#include "cli/base/output.h"
#include "cli/source/jobiod.h"
#include "common/cleanup.h"
#include "common/utf8.h"

/* jobiod answers when every gateway has answered or failed. */

static const char help[] =
    "usage: jobio retire\n"
    "Delete what this node has pushed from every Pushgateway: for a node that leaves the cluster.\n"
    "Only root may. Stopping jobiod alone leaves the node's group there.\n"
    "\n"
    "      --socket PATH  jobiod's socket (JOBIO_SOCKET, else /run/jobio/jobiod.sock)\n"
    "\n"
    "Examples:\n"
    "  jobio retire\n"
    "\n"
    "Exit status: 0 every gateway has deleted it, 1 failed, 2 usage.\n";

/* One line per gateway; untrusted, because it came over the network. */
static void print_lines(char *text)
{
    char *save = NULL;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        _free_ char *safe = utf8_sanitize(line);

        output_text(safe ? safe : "?");
        output_text("\n");
    }
}

static int retire_run(struct cli *cli, int argc, char **argv)
{
    _free_ char *text = NULL;
    struct error error;
    int first, status;

    if (!options_start(cli, &cli_retire, NULL, 0, 0, argc, argv, &first, &status))
        return status;
    if (first < argc) {
        output_error("retire: unexpected argument \"%s\" (try 'jobio retire --help')", argv[first]);
        return CLI_USAGE;
    }
    if (jobiod_retire(cli, &text, &error) < 0) {
        output_error("retire: %s", error.text);
        return CLI_FAILED;
    }
    if (*text)
        print_lines(text);
    else
        output_text("no Pushgateway is configured: nothing to delete\n");
    return CLI_OK;
}

const struct subcommand cli_retire = {"retire", "delete the metrics that this node has pushed",
                                      help, retire_run};
