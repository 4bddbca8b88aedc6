/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job can be compared with, gathered from where the history is. */
#ifndef JOBIO_CLI_EXPLAIN_CONTEXT_H
#define JOBIO_CLI_EXPLAIN_CONTEXT_H

#include <stdbool.h>

#include "cli/base/cli.h"
#include "common/error.h"
#include "common/job.h"

#define CONTEXT_MAX 32000 /* bytes of a document */

/* The document of report/explain/context.h about a job, malloc'd; `anonymous`: with labels in place
 * of names. What cannot be found out is in its left_out; -errno with text if there is no document.
 */
int context_make(const struct cli *cli, const struct job_account *job, bool anonymous, char **ret,
                 struct error *error);

#endif
