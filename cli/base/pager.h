/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Long answers on a terminal, page by page. */
#ifndef JOBIO_CLI_BASE_PAGER_H
#define JOBIO_CLI_BASE_PAGER_H

#include "cli/base/cli.h"

/* For a subcommand whose answer may be long, before it writes the first of it. When stdout is a
 * terminal, what follows goes through JOBIO_PAGER, else PAGER, else less, which shows what fits on
 * one screen as it is; not with --no-pager, or when the word is empty or "cat". Without less, or on
 * a terminal that can do nothing, nothing changes. From here on a reader of stdout that goes away
 * is not an error: the rest of the output is dropped. */
void pager_start(const struct cli *cli);

/* Wait until the person has read; without a pager nothing. stdout is flushed before, and closed
 * afterwards. False: the command that was set as the pager could not be run, and nobody has read.
 */
bool pager_finish(void);

#endif
