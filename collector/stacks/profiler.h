/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds up stacks by their functions: which code waited, and how long. */
#ifndef JOBIO_COLLECTOR_STACKS_PROFILER_H
#define JOBIO_COLLECTOR_STACKS_PROFILER_H

#include "collector/probe/stacks.h"
#include "common/error.h"
#include "common/stack.h"

struct profiler;

/* -ENOTSUP: libdw is missing. */
int profiler_create(struct profiler **ret, struct error *error);
void profiler_destroy(struct profiler *profiler); /* NULL is fine */
/* Call it soon: the mappings of a process can only be read while it lives. */
void profiler_add(struct profiler *profiler, const struct probe_stack *stack);
/* Look up the names, and fill the empty profile but for its counts and least_ns. */
void profiler_fill(const struct profiler *profiler, struct stack_profile *ret);

#endif
