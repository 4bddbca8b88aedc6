/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stack.h"

#include <stdlib.h>
#include <string.h>

static void weight_add(struct stack_weight *to, const struct stack_weight *from)
{
    to->calls += from->calls;
    to->time_ns += from->time_ns;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct stack *)a)->text, ((const struct stack *)b)->text);
}

/* By time, the most first. */
static int compare_times(const void *a, const void *b)
{
    const struct stack *x = a, *y = b;

    if (x->weight.time_ns != y->weight.time_ns)
        return x->weight.time_ns < y->weight.time_ns ? 1 : -1;
    return compare_texts(a, b);
}

/* Returns the number of different stacks. */
static size_t merge_equal(struct stack *stacks, size_t n)
{
    size_t kept = 0;

    qsort(stacks, n, sizeof(*stacks), compare_texts);
    for (size_t i = 0; i < n; i++) {
        if (kept && !strcmp(stacks[kept - 1].text, stacks[i].text)) {
            weight_add(&stacks[kept - 1].weight, &stacks[i].weight);
            free(stacks[i].text);
        } else {
            stacks[kept++] = stacks[i];
        }
    }
    return kept;
}

void stack_profile_fill(struct stack_profile *profile, struct stack *stacks, size_t n)
{
    n = n ? merge_equal(stacks, n) : 0;
    if (n)
        qsort(stacks, n, sizeof(*stacks), compare_times);
    profile->stacks = stacks;
    profile->n = n < STACK_PROFILE_MAX ? n : STACK_PROFILE_MAX;
    for (size_t i = profile->n; i < n; i++) {
        weight_add(&profile->other, &stacks[i].weight);
        free(stacks[i].text);
    }
}

void stack_profile_clear(struct stack_profile *profile)
{
    for (size_t i = 0; i < profile->n; i++)
        free(profile->stacks[i].text);
    free(profile->stacks);
    *profile = (struct stack_profile){0};
}
