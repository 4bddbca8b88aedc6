/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_CLI_EXPLAIN_EXPLAIN_H
#define JOBIO_CLI_EXPLAIN_EXPLAIN_H

#include "cli/base/cli.h"

extern const struct subcommand cli_explain; /* jobio explain */

#endif
