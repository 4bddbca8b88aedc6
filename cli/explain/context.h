/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All that is known about a job, and similar jobs of the past, as one document. */
#ifndef JOBIO_CLI_EXPLAIN_CONTEXT_H
#define JOBIO_CLI_EXPLAIN_CONTEXT_H

#include <stdbool.h>

#include "cli/source/source.h"
#include "common/error.h"
#include "common/job.h"

#define CONTEXT_MAX 32000 /* bytes of a document */

/* The document of report/explain/context.h about a job, malloc'd. `anonymous`: names are replaced
 * by labels, in `job` as well. Missing information is listed in its left_out; -errno with text if
 * there is no document. */
int context_make(struct source *source, struct job_account *job, bool anonymous, char **ret,
                 struct error *error);

#endif
