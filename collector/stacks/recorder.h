/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records which code of a step waited: adds up the stacks of its long calls. */
#ifndef JOBIO_COLLECTOR_STACKS_RECORDER_H
#define JOBIO_COLLECTOR_STACKS_RECORDER_H

#include <stdint.h>

#include "collector/probe/probe.h"
#include "collector/probe/stacks.h"
#include "common/error.h"
#include "common/stack.h"

struct stack_recorder;

/* The version of libdw with which this was built, and that of the library on this host. "none" and
 * NULL: this was built without stacks. */
const char *stack_recorder_built(void);
const char *stack_recorder_running(void);

/* The probe must have been created with limits.least_ns as probe_options.long_ns, and must stay.
 * -ENOTSUP: libdw is missing. */
int stack_recorder_create(struct stack_recorder **ret, struct probe *probe,
                          const struct stack_limits *limits, struct error *error);
void stack_recorder_destroy(struct stack_recorder *recorder); /* NULL is fine */

/* Record this step from now on. Raises the limit of descriptors. Errors of probe_stacks_start(). */
int stack_recorder_start(struct stack_recorder *recorder, uint32_t step, struct error *error);

/* A descriptor; when it is readable, call stack_recorder_read() soon, because the mappings of a
 * process can only be read while it lives. It reads some stacks and returns 1 if there may be more.
 * Both accept NULL: -1, and 0. */
int stack_recorder_fd(const struct stack_recorder *recorder);
int stack_recorder_read(struct stack_recorder *recorder, struct error *error);

/* The step has ended: read the rest, and fill the empty profile. */
int stack_recorder_finish(struct stack_recorder *recorder, struct stack_profile *ret,
                          struct error *error);

#endif
