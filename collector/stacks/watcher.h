/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records which code of steps waited: hands their stacks to processes that unwind them. It never
 * waits for these. */
#ifndef JOBIO_COLLECTOR_STACKS_WATCHER_H
#define JOBIO_COLLECTOR_STACKS_WATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "collector/probe/stacks.h"
#include "common/error.h"
#include "common/stack.h"

struct probe;
struct stack_watcher;

/* The profile of an ended step, which the callee takes over. `why`: why a process that unwinds
 * failed; NULL: none did. */
typedef void (*stack_watcher_f)(struct stack_profile *profile, const char *why, void *arg);

/* The probe must stay. */
int stack_watcher_create(struct stack_watcher **ret, struct probe *probe,
                         const struct stack_limits *limits, stack_watcher_f done,
                         struct error *error);
/* Ends all processes, without their profiles. NULL is fine. */
void stack_watcher_destroy(struct stack_watcher *watcher);

/* Steps that have a process at once, and processes of earlier ones that have yet to end. The calls
 * of further steps are counted, but their stacks are not unwound. */
#define STACK_WATCHER_STEPS 64
#define STACK_WATCHER_USER_STEPS 16 /* of one user */
/* Record this step of that user. Errors of probe_stacks_start(). */
int stack_watcher_start(struct stack_watcher *watcher, uint32_t step, uid_t uid,
                        struct error *error);
/* NULL is fine: false, and 0. */
bool stack_watcher_has(const struct stack_watcher *watcher, uint32_t step);
size_t stack_watcher_steps(const struct stack_watcher *watcher);
/* The step has ended: `done` is called with `arg`, during this call or later. */
void stack_watcher_end(struct stack_watcher *watcher, uint32_t step, void *arg);

/* The process ends: call `done` for the ended steps, without their stacks. NULL is fine. */
void stack_watcher_stop(struct stack_watcher *watcher);
/* The step has ended, and nobody needs its profile. */
void stack_watcher_forget(struct stack_watcher *watcher, uint32_t step);

/* A descriptor; when it is readable, and every few seconds, call stack_watcher_work(). Both accept
 * NULL: -1, and nothing. */
int stack_watcher_fd(const struct stack_watcher *watcher);
int stack_watcher_work(struct stack_watcher *watcher, struct error *error);

#endif
