/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pager for long output on a terminal. */
#ifndef JOBIO_CLI_BASE_PAGER_H
#define JOBIO_CLI_BASE_PAGER_H

#include "cli/base/cli.h"

/* Call it before the first output of a subcommand that may print a lot. If stdout is a terminal,
 * the output goes through JOBIO_PAGER, else PAGER, else less, which exits at once if all fits on
 * one screen. There is no pager with --no-pager, if the variable is empty or "cat", without less,
 * and on a dumb terminal. From now on a reader of stdout that exits early is not an error: the rest
 * of the output is dropped. */
void pager_start(const struct cli *cli);

/* Flush and close stdout, and wait until the pager exits; nothing without a pager. False: the pager
 * of the user could not be run, so that the output was not shown. */
bool pager_finish(void);

#endif
