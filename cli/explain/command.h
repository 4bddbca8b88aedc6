/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs another program once, with a deadline. */
#ifndef JOBIO_CLI_EXPLAIN_COMMAND_H
#define JOBIO_CLI_EXPLAIN_COMMAND_H

#include <stddef.h>

#include "common/error.h"

/* Run argv (found by PATH, with no input) and read its stdout: *ret is malloc'd, at most `max`
 * bytes of it. -ENOENT: there is no such program; -ETIMEDOUT: it and its children were killed after
 * that time; -E2BIG: it wrote more; -EIO: it failed, with the first line of its stderr in the
 * text. */
int command_read(char *const argv[], unsigned timeout_ms, size_t max, char **ret,
                 struct error *error);

#endif
