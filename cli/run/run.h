/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_CLI_RUN_RUN_H
#define JOBIO_CLI_RUN_RUN_H

#include "cli/base/cli.h"

extern const struct subcommand cli_run; /* jobio run */

#endif
