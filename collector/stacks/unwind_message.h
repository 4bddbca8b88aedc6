/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack on its way to the process that unwinds it: both are of one build. */
#ifndef JOBIO_COLLECTOR_STACKS_UNWIND_MESSAGE_H
#define JOBIO_COLLECTOR_STACKS_UNWIND_MESSAGE_H

#include <stddef.h>
#include <string.h>

#include "bpf/stack_records.h"
#include "collector/probe/stacks.h"

/* Before the reason why the process answers nothing. */
#define UNWIND_FAILURE "failure "

struct unwind_message {
    uint64_t started, stack_start, time_ns, from;
    uint64_t registers[STACK_REGISTERS];
    uint32_t pid;
    char comm[STACK_COMM];
    uint8_t bytes[STACK_CHUNKS * STACK_CHUNK]; /* not all of it is sent */
};

static inline size_t unwind_message_size(const struct probe_stack *stack)
{
    return offsetof(struct unwind_message, bytes) + stack->size;
}

static inline void unwind_message_fill(struct unwind_message *to, const struct probe_stack *stack)
{
    to->started = stack->started;
    to->stack_start = stack->stack_start;
    to->time_ns = stack->time_ns;
    to->from = stack->from;
    to->pid = stack->pid;
    memcpy(to->registers, stack->registers, sizeof(to->registers));
    memcpy(to->comm, stack->comm, sizeof(to->comm));
    memcpy(to->bytes, stack->bytes, stack->size);
}

/* The pointers are into the message. */
static inline struct probe_stack unwind_message_stack(const struct unwind_message *m, size_t size)
{
    return (struct probe_stack){
        .pid = m->pid,
        .started = m->started,
        .stack_start = m->stack_start,
        .time_ns = m->time_ns,
        .comm = m->comm,
        .registers = m->registers,
        .bytes = m->bytes,
        .from = m->from,
        .size = size - offsetof(struct unwind_message, bytes),
    };
}

#endif
