/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `jobio status --all`: the verdicts of all nodes of the cluster, in one table. */
#ifndef JOBIO_CLI_STATUS_ALL_H
#define JOBIO_CLI_STATUS_ALL_H

#include <stdbool.h>

#include "cli/base/cli.h"

/* Query the jobiod of each node that sinfo lists, at [peers] url of jobio.conf. full: name every
 * node. Prints, also errors, and returns the exit status: a verdict, or with `json` one of enum
 * cli_status. */
int status_all(const struct cli *cli, bool full, bool json);

#endif
