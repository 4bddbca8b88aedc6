/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/run/stacks.h"

#include <errno.h>
#include <string.h>

#include "common/clock.h"

/* The limits if the options do not set them. */
#define LEAST_NS NS_PER_MS
#define STACKS_PER_SECOND 100

int run_stacks_check(struct run_stacks *stacks, bool json, struct error *error)
{
    struct stack_limits *limits = &stacks->limits;

    if (!stacks->form && (limits->least_ns || limits->per_second))
        return error_set(error, -EINVAL, "--stacks-min and --stacks-rate require --stacks");
    if (stacks->form && *stacks->form && !run_stacks_are_folded(stacks))
        return error_set(error, -EINVAL, "--stacks is --stacks or --stacks=folded, not \"%.100s\"",
                         stacks->form);
    if (stacks->form && json)
        return error_set(error, -EINVAL,
                         "--stacks cannot be used with --json; --stacks=folded is for programs");
    limits->least_ns = limits->least_ns ? limits->least_ns : LEAST_NS;
    limits->per_second = limits->per_second ? limits->per_second : STACKS_PER_SECOND;
    return 0;
}

bool run_stacks_are_folded(const struct run_stacks *stacks)
{
    return stacks->form && !strcmp(stacks->form, "folded");
}
