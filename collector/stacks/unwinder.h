/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that unwinds the stacks of one user. It reads files that the user has written, so it
 * has the user's id, no capability, and limits of memory and time; what goes wrong in it costs only
 * the stacks that it has. All functions return without waiting.
 */
#ifndef JOBIO_COLLECTOR_STACKS_UNWINDER_H
#define JOBIO_COLLECTOR_STACKS_UNWINDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/probe/stacks.h"
#include "common/clock.h"
#include "common/error.h"
#include "common/stack.h"

struct unwinder;

/* Start the process with the ids of process `pid`, whose user must be `uid`. -EPERM: it is not;
 * -ESRCH: it has ended. */
int unwinder_start(struct unwinder **ret, uint32_t pid, uid_t uid, struct error *error);
/* Returns false if too many stacks wait. */
bool unwinder_send(struct unwinder *unwinder, const struct probe_stack *stack);
/* Send what waits; call it when unwinder_input() is writable. Returns whether something is left. */
bool unwinder_flush(struct unwinder *unwinder);
/* Returns whether something waits, which unwinder_flush() can send when there is room for it. */
bool unwinder_waits(const struct unwinder *unwinder);
int unwinder_input(const struct unwinder *unwinder);
int unwinder_output(const struct unwinder *unwinder); /* for poll(2) */

/* No stack follows: it looks up the names, and answers. */
void unwinder_finish(struct unwinder *unwinder);
/* When unwinder_output() is readable: 0: its answer is in the empty profile; -EAGAIN: not yet;
 * other errors: it has failed, and answers nothing. */
int unwinder_take(struct unwinder *unwinder, struct stack_profile *ret, struct error *error);
/* End the process. Returns true if it has ended, and the unwinder is freed; else try again later:
 * it may wait for a file system. */
bool unwinder_destroy(struct unwinder *unwinder);

/* The process takes at most this CPU time and a part of the time since its start: a job of short
 * programs has tables to read for each. What it does not unwind then is missing in its answer.
 * Returns whether it may unwind another stack. */
#define UNWINDER_FREE_NS (10 * NS_PER_S)
#define UNWINDER_SHARE 50 /* a fiftieth */
static inline bool unwinder_may_go_on(uint64_t cpu_ns, uint64_t since_start_ns)
{
    return cpu_ns < UNWINDER_FREE_NS + since_start_ns / UNWINDER_SHARE;
}

/* The argument of main() in that process, and its main(): returns the exit status. */
#define UNWINDER_ARGUMENT "--unwind"
int unwinder_main(int argc, char **argv);

#endif
