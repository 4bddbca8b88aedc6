/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack of a function of the test program, as the BPF programs report it. */
#ifndef JOBIO_TESTS_UNIT_TAKEN_STACK_H
#define JOBIO_TESTS_UNIT_TAKEN_STACK_H

#include <sys/types.h>
#include <ucontext.h>

#include "bpf/stack_records.h"
#include "collector/probe/stacks.h"

struct taken {
    struct probe_stack stack; /* its pointers are into this struct */
    uint64_t registers[STACK_REGISTERS];
    uint8_t bytes[STACK_CHUNK * STACK_CHUNKS];
};

/* Call the function, which calls taken_fill() and returns more than 0. The stack is one of process
 * `pid`, this one or a copy of it. Free it with free(3). */
struct taken *taken_create(pid_t pid, int (*function)(struct taken *));
void taken_fill(struct taken *taken, const ucontext_t *context);

#endif
