/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_CLI_TOP_TOP_H
#define JOBIO_CLI_TOP_TOP_H

#include "cli/base/cli.h"

extern const struct subcommand cli_top; /* jobio top */

#endif
