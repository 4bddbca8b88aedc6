/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stacks of a program that were unwound. Programs wait at few places, and a comparison of some
 * words is a hundred times faster than to unwind a stack.
 *
 * The unwinder computes where the frame of a function starts from its program counter and from a
 * register that points into the stack, which it read or which it started with. So two stacks with
 * the same program counter have the same functions if what was read has the same value: as a return
 * address, or as a distance from the stack pointer.
 */
#ifndef JOBIO_COLLECTOR_STACKS_KNOWN_STACKS_H
#define JOBIO_COLLECTOR_STACKS_KNOWN_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/probe/stacks.h"

struct known_stacks;

/* What the unwinder has read of a stack. */
struct stack_read {
    struct {
        uint64_t address, value;
    } words[1024];
    size_t n;
    uint64_t counters[128]; /* the program counters of its functions */
    size_t n_counters;
    bool complete; /* it did not need more than the copy */
};

struct known_stacks *known_stacks_create(void);        /* NULL on out-of-memory */
void known_stacks_destroy(struct known_stacks *known); /* NULL is fine */
/* The mappings of the program have changed. */
void known_stacks_forget(struct known_stacks *known);

/* Returns the number of an equal stack of a thread of the same name; negative: there is none. */
int64_t known_stacks_find(const struct known_stacks *known, const struct probe_stack *stack);
/* Remember what was read of this stack. Does nothing if it is empty, or if there is no room. */
void known_stacks_add(struct known_stacks *known, const struct probe_stack *stack,
                      const struct stack_read *read, uint64_t number);

/* Read a word of the copy. False: it is not in the copy. */
bool probe_stack_word(const struct probe_stack *stack, uint64_t address, uint64_t *ret);

#endif
