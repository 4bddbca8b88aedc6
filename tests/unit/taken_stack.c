/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "tests/unit/test.h"

#include "tests/unit/taken_stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/proc_stat.h"

void taken_fill(struct taken *taken, const ucontext_t *context)
{
    static const struct {
        enum stack_register to;
        int from;
    } pairs[] = {
        {STACK_RBX, REG_RBX}, {STACK_RBP, REG_RBP}, {STACK_R12, REG_R12}, {STACK_R13, REG_R13},
        {STACK_R14, REG_R14}, {STACK_R15, REG_R15}, {STACK_RIP, REG_RIP}, {STACK_RSP, REG_RSP},
    };

    for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
        taken->registers[pairs[i].to] = (uint64_t)context->uc_mcontext.gregs[pairs[i].from];
    taken->registers[STACK_CS] = 0x33;
    taken->stack.registers = taken->registers;
    taken->stack.from = taken->registers[STACK_RSP] & -(uint64_t)STACK_CHUNK;
    taken->stack.bytes = taken->bytes;
    taken->stack.size = taken->stack.stack_start - taken->stack.from;
    if (taken->stack.size > sizeof(taken->bytes))
        taken->stack.size = sizeof(taken->bytes);
    memcpy(taken->bytes, (const void *)taken->stack.from, taken->stack.size);
}

static uint64_t stack_start(void)
{
    _fclose_ FILE *in = fopen("/proc/self/stat", "re");
    char line[1024];
    uint64_t ret;

    assert_non_null(in);
    assert_non_null(fgets(line, sizeof(line), in));
    assert_int_equal(proc_stat_number(line, PROC_STAT_STACK, &ret), 0);
    return ret;
}

struct taken *taken_create(pid_t pid, int (*function)(struct taken *))
{
    struct taken *taken = calloc(1, sizeof(*taken));

    assert_non_null(taken);
    taken->stack.pid = (uint32_t)pid;
    taken->stack.stack_start = stack_start();
    taken->stack.comm = "comm\0\0\0\0\0\0\0\0\0\0\0";
    assert_true(function(taken) > 0);
    return taken;
}
