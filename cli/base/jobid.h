/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids of jobs, tasks of arrays, and steps, in Slurm's notation. */
#ifndef JOBIO_CLI_BASE_JOBID_H
#define JOBIO_CLI_BASE_JOBID_H

#include <stdbool.h>
#include <stdint.h>

#include "common/error.h"

#define JOBID_TEXT 40 /* enough for any id */

struct jobid {
    uint32_t job; /* with `has_task`: the ArrayJobId */
    bool has_task, has_step;
    uint32_t task; /* ArrayTaskId */
    uint32_t step; /* a number, STEP_BATCH, STEP_EXTERN or STEP_INTERACTIVE */
};

/* Parse "123", "123.0", "123.batch", "123_4", "123_4.extern". -EINVAL with text that quotes the
 * word and says what to give; *ret is unchanged then. */
int jobid_parse(const char *text, struct jobid *ret, struct error *error);

/* The reverse. Returns buf. */
char *jobid_format(const struct jobid *id, char buf[JOBID_TEXT]);

/* Sets the error for an unknown job. Returns -ENOENT. */
int jobid_unknown(const struct jobid *id, struct error *error);

#endif
