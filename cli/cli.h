/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command: its subcommands and its main function. */
#ifndef JOBIO_CLI_CLI_H
#define JOBIO_CLI_CLI_H

#include "cli/base/cli.h"

extern const struct subcommand cli_job;
extern const struct subcommand cli_history;
extern const struct subcommand cli_advise;
extern const struct subcommand cli_array;
extern const struct subcommand cli_compare;
extern const struct subcommand cli_trend;
extern const struct subcommand cli_trace;
extern const struct subcommand cli_status;
extern const struct subcommand cli_retire;

/* Parse the command line, run the subcommand, flush stdout. Returns the exit status. */
int cli_main(int argc, char **argv);

#endif
