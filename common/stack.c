/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/numbers.h"

void stack_weight_add(struct stack_weight *to, const struct stack_weight *from)
{
    add_saturating(&to->calls, from->calls);
    add_saturating(&to->time_ns, from->time_ns);
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
            stack_weight_add(&stacks[kept - 1].weight, &stacks[i].weight);
            free(stacks[i].text);
        } else {
            stacks[kept++] = stacks[i];
        }
    }
    return kept;
}

/* Returns how many of the first stacks are kept. */
static size_t count_kept(const struct stack *stacks, size_t n)
{
    size_t kept = 0, bytes = 0;

    while (kept < n && kept < STACK_PROFILE_MAX) {
        bytes += strlen(stacks[kept].text);
        if (bytes > STACK_PROFILE_BYTES)
            break;
        kept++;
    }
    return kept;
}

void stack_profile_fill(struct stack_profile *profile, struct stack *stacks, size_t n)
{
    n = n ? merge_equal(stacks, n) : 0;
    if (n)
        qsort(stacks, n, sizeof(*stacks), compare_times);
    profile->stacks = stacks;
    profile->n = count_kept(stacks, n);
    for (size_t i = profile->n; i < n; i++) {
        stack_weight_add(&profile->other, &stacks[i].weight);
        free(stacks[i].text);
    }
}

/* Copy these stacks to the end of an array that has room for them. */
static int copy_stacks(const struct stack_profile *from, struct stack *to, size_t *n)
{
    for (size_t i = 0; from && i < from->n; i++) {
        to[*n] = (struct stack){strdup(from->stacks[i].text), from->stacks[i].weight};
        if (!to[(*n)++].text)
            return -ENOMEM;
    }
    return 0;
}

/* Call it first: it may fail. */
static int add_stacks(struct stack_profile *to, const struct stack_profile *from)
{
    struct stack *stacks = calloc(to->n + from->n + 1, sizeof(*stacks));
    size_t n = 0;

    if (!stacks || copy_stacks(to, stacks, &n) < 0 || copy_stacks(from, stacks, &n) < 0) {
        while (n)
            free(stacks[--n].text);
        free(stacks);
        return -ENOMEM;
    }
    for (size_t i = 0; i < to->n; i++)
        free(to->stacks[i].text);
    free(to->stacks);
    stack_profile_fill(to, stacks, n);
    return 0;
}

int stack_profile_add(struct stack_profile **to, const struct stack_profile *from)
{
    struct stack_profile *sum = *to;

    if (!from)
        return 0;
    if (!sum)
        *to = sum = calloc(1, sizeof(*sum));
    if (!sum || add_stacks(sum, from) < 0)
        return -ENOMEM;
    if (!sum->least_ns || (from->least_ns && from->least_ns < sum->least_ns))
        sum->least_ns = from->least_ns;
    stack_weight_add(&sum->other, &from->other);
    stack_weight_add(&sum->failed, &from->failed);
    stack_weight_add(&sum->truncated, &from->truncated);
    stack_weight_add(&sum->unread, &from->unread);
    stack_weight_add(&sum->counts.all, &from->counts.all);
    stack_weight_add(&sum->counts.unsampled, &from->counts.unsampled);
    stack_weight_add(&sum->counts.lost, &from->counts.lost);
    return 0;
}

void stack_profile_clear(struct stack_profile *profile)
{
    for (size_t i = 0; i < profile->n; i++)
        free(profile->stacks[i].text);
    free(profile->stacks);
    *profile = (struct stack_profile){0};
}

void stack_profile_destroy(struct stack_profile *profile)
{
    if (profile)
        stack_profile_clear(profile);
    free(profile);
}

struct stack_weight stack_profile_sum(const struct stack_profile *profile)
{
    struct stack_weight sum = profile->other;

    for (size_t i = 0; i < profile->n; i++)
        stack_weight_add(&sum, &profile->stacks[i].weight);
    return sum;
}
