/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stacks of `jobio run`: its options. */
#ifndef JOBIO_CLI_RUN_STACKS_H
#define JOBIO_CLI_RUN_STACKS_H

#include <stdbool.h>

#include "collector/stacks/recorder.h"
#include "common/error.h"

struct run_stacks {
    const char *form; /* from the options; NULL: no stacks; "": text */
    struct stack_limits limits;
};

/* Check the options, and set the limits that they leave at 0. -EINVAL: there is no such form, or
 * not as JSON. */
int run_stacks_check(struct run_stacks *stacks, bool json, struct error *error);
/* Returns whether the stacks are written for flame graphs, in place of the report. */
bool run_stacks_are_folded(const struct run_stacks *stacks);

#endif
