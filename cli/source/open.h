/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_CLI_SOURCE_OPEN_H
#define JOBIO_CLI_SOURCE_OPEN_H

#include "cli/base/cli.h"
#include "cli/source/source.h"

/* The source that the options request: --store, --from, or [history] of jobio.conf; else jobiod.
 * `cli` must outlive it. *ret is untouched on failure. */
int source_open(const struct cli *cli, struct source **ret, struct error *error);

#endif
