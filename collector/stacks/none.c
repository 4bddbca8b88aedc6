/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For builds without BPF or the headers of libdw, and for other architectures than x86-64. */
#include "collector/stacks/recorder.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/stacks/unwinder.h"

#define WHY "cannot record stacks: this jobio was built without libdw, or not for x86-64"

const char *stack_recorder_built(void)
{
    return "none";
}

const char *stack_recorder_running(void)
{
    return NULL;
}

int stack_recorder_create(struct stack_recorder **ret, struct probe *probe,
                          const struct stack_limits *limits, struct error *error)
{
    (void)ret;
    (void)probe;
    (void)limits;
    return error_set(error, -ENOTSUP, WHY);
}

void stack_recorder_destroy(struct stack_recorder *recorder)
{
    (void)recorder;
}

int stack_recorder_start(struct stack_recorder *recorder, uint32_t step, struct error *error)
{
    (void)recorder;
    (void)step;
    (void)error;
    return 0;
}

int stack_recorder_fd(const struct stack_recorder *recorder)
{
    (void)recorder;
    return -1;
}

int stack_recorder_read(struct stack_recorder *recorder, struct error *error)
{
    (void)recorder;
    (void)error;
    return 0;
}

int stack_recorder_finish(struct stack_recorder *recorder, struct stack_profile *ret,
                          struct error *error)
{
    (void)recorder;
    (void)ret;
    (void)error;
    return 0;
}

int unwinder_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)puts(WHY);
    return EXIT_FAILURE;
}
