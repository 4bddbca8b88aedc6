/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code waited: the user stacks of long calls, with the time of the calls. */
#ifndef JOBIO_COMMON_STACK_H
#define JOBIO_COMMON_STACK_H

#include <stddef.h>
#include <stdint.h>

#define STACK_COMM 16

struct stack_weight {
    uint64_t calls, time_ns;
};

/* The long calls of a step: all of them, and those without a stack. */
struct stack_counts {
    struct stack_weight all;
    struct stack_weight unsampled; /* because of the limit per second */
    struct stack_weight lost;      /* came faster than they could be read */
};

struct stack {
    /* Owned: thread name and functions from the outermost one on, separated by ';'. A tab and the
     * file follow a function whose name is known; a tab and the build id of the file may follow
     * another one, which starts with '['. */
    char *text;
    struct stack_weight weight;
};

/* A zeroed struct is empty. `stacks`, `other`, `failed`, counts.unsampled and counts.lost add up to
 * counts.all, if the threads were not counted while it was read. */
struct stack_profile {
    struct stack *stacks; /* owned; those with the most time, in this order */
    size_t n;
    struct stack_weight other;  /* of all further stacks */
    struct stack_weight failed; /* handed to no process that unwinds, or it failed */
    /* Of all stacks: those whose outer functions are missing, and those of processes that had ended
     * before anything was known of them. */
    struct stack_weight truncated, unread;
    uint64_t least_ns; /* calls from this time on are long */
    struct stack_counts counts;
};

/* The stacks of a profile, and the bytes of their texts, at most; the others are summed up. */
#define STACK_PROFILE_MAX 100
#define STACK_PROFILE_BYTES (64 * 1024)

/* Keep the stacks with the most time of these n, whose texts it takes over: equal ones as one. */
void stack_profile_fill(struct stack_profile *profile, struct stack *stacks, size_t n);
/* The sum for different steps or nodes: *to += from. *to is created if it is NULL; `from` may be
 * NULL. 0 or -ENOMEM. */
int stack_profile_add(struct stack_profile **to, const struct stack_profile *from);
void stack_profile_clear(struct stack_profile *profile);
void stack_profile_destroy(struct stack_profile *profile); /* frees the struct; NULL is fine */
/* What has a stack: `stacks` and `other`. */
struct stack_weight stack_profile_sum(const struct stack_profile *profile);
void stack_weight_add(struct stack_weight *to, const struct stack_weight *from);

#endif
