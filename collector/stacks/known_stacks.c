/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/known_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/stack_records.h"
#include "common/cleanup.h"

/* Further stacks are unwound each time. */
#define MAX_KNOWN 512
/* Larger than the stack of a thread: what is in this distance may point into it. */
#define STACK_SPAN (UINT64_C(1) << 30)

/* The registers that a function preserves for its caller. */
static const enum stack_register preserved[] = {STACK_RBX, STACK_RBP, STACK_R12,
                                                STACK_R13, STACK_R14, STACK_R15};

/* What a stack must have in common with a known one. */
struct word {
    uint64_t distance; /* from the stack pointer */
    uint64_t value;    /* the same of a pointer into the stack */
    bool points;
};

struct known {
    char comm[STACK_COMM];
    uint64_t counter; /* the program counter */
    uint64_t size;    /* of the copy above the stack pointer, at which it ended; 0: it did not */
    uint64_t number;
    struct word registers[ARRAY_SIZE(preserved)];
    struct word *words; /* owned */
    size_t n_words;
};

struct known_stacks {
    struct known items[MAX_KNOWN];
    size_t n;
};

struct known_stacks *known_stacks_create(void)
{
    return calloc(1, sizeof(struct known_stacks));
}

void known_stacks_forget(struct known_stacks *known)
{
    for (size_t i = 0; i < known->n; i++)
        free(known->items[i].words);
    known->n = 0;
}

void known_stacks_destroy(struct known_stacks *known)
{
    if (known)
        known_stacks_forget(known);
    free(known);
}

bool probe_stack_word(const struct probe_stack *stack, uint64_t address, uint64_t *ret)
{
    if (address < stack->from || stack->size < sizeof(*ret) ||
        address - stack->from > stack->size - sizeof(*ret))
        return false;
    memcpy(ret, stack->bytes + (address - stack->from), sizeof(*ret));
    return true;
}

static struct word word_of(const struct probe_stack *stack, uint64_t address, uint64_t value)
{
    uint64_t pointer = stack->registers[STACK_RSP];
    bool points = value - pointer < STACK_SPAN;

    return (struct word){
        .distance = address - pointer, .value = points ? value - pointer : value, .points = points};
}

static bool is_same(const struct word *a, const struct word *b)
{
    return a->points == b->points && a->value == b->value;
}

static uint64_t copied(const struct probe_stack *stack)
{
    return stack->from + stack->size - stack->registers[STACK_RSP];
}

static bool is_known(const struct known *known, const struct probe_stack *stack)
{
    uint64_t pointer = stack->registers[STACK_RSP], value;

    if (known->counter != stack->registers[STACK_RIP] ||
        memcmp(known->comm, stack->comm, STACK_COMM) ||
        (known->size && known->size != copied(stack)))
        return false;
    for (size_t i = 0; i < ARRAY_SIZE(preserved); i++) {
        struct word word = word_of(stack, 0, stack->registers[preserved[i]]);

        if ((word.points || known->registers[i].points) && !is_same(&word, &known->registers[i]))
            return false;
    }
    for (size_t i = 0; i < known->n_words; i++) {
        struct word word;

        if (!probe_stack_word(stack, pointer + known->words[i].distance, &value))
            return false;
        word = word_of(stack, 0, value);
        if (!is_same(&word, &known->words[i]))
            return false;
    }
    return true;
}

int64_t known_stacks_find(const struct known_stacks *known, const struct probe_stack *stack)
{
    for (size_t i = 0; i < known->n; i++)
        if (is_known(&known->items[i], stack))
            return (int64_t)known->items[i].number;
    return -ENOENT;
}

static bool has(const uint64_t *values, size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++)
        if (values[i] == value)
            return true;
    return false;
}

void known_stacks_add(struct known_stacks *known, const struct probe_stack *stack,
                      const struct stack_read *read, uint64_t number)
{
    struct known made = {.counter = stack->registers[STACK_RIP],
                         .size = read->complete ? 0 : copied(stack),
                         .number = number};

    /* Every stack would be equal to one of which nothing was copied. */
    if (known->n == MAX_KNOWN || !stack->size)
        return;
    memcpy(made.comm, stack->comm, STACK_COMM);
    made.words = calloc(read->n + 1, sizeof(*made.words));
    if (!made.words)
        return;
    for (size_t i = 0; i < ARRAY_SIZE(preserved); i++)
        made.registers[i] = word_of(stack, 0, stack->registers[preserved[i]]);
    for (size_t i = 0; i < read->n; i++) {
        struct word word = word_of(stack, read->words[i].address, read->words[i].value);

        if (word.points || has(read->counters, read->n_counters, read->words[i].value))
            made.words[made.n_words++] = word;
    }
    known->items[known->n++] = made;
}
