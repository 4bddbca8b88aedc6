/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program in the memory of a process: unwinds its stacks by the tables in its files (.eh_frame,
 * DWARF), so that frame pointers are not needed. */
#ifndef JOBIO_COLLECTOR_STACKS_PROGRAM_H
#define JOBIO_COLLECTOR_STACKS_PROGRAM_H

#include <stdbool.h>

#include "collector/probe/stacks.h"
#include "collector/stacks/code_files.h"
#include "collector/stacks/perf_map.h"

/* Functions of a stack, at most; the outer ones are left out. */
#define PROGRAM_FRAMES 128

enum stack_end {
    STACK_COMPLETE,
    STACK_TRUNCATED, /* outer functions are missing */
    STACK_UNREAD,    /* the process had ended before its mappings were read: there is nothing */
};

/* A stack that was unwound: its functions, from the innermost one on. */
struct program_stack {
    struct code_place places[PROGRAM_FRAMES];
    size_t n;
    enum stack_end end;
};

struct program;

/* Read what the process has mapped. NULL on out-of-memory. libdw_load() must have returned 0; files
 * and maps must stay. */
struct program *program_create(const struct probe_stack *stack, struct code_files *files,
                               struct perf_maps *maps);
void program_destroy(struct program *program); /* NULL is fine */
/* Returns whether the stack is of this program. */
bool program_has(const struct program *program, const struct probe_stack *stack);

/* Unwind a stack of the program into *ret. */
void program_unwind(struct program *program, const struct probe_stack *stack,
                    struct program_stack *ret);
/* Call this after it: remember the stack by a number of the caller. */
void program_remember(struct program *program, const struct probe_stack *stack, uint64_t number);
/* Returns the number of an equal stack of a thread of the same name; negative: there is none, so
 * unwind it. */
int64_t program_find(const struct program *program, const struct probe_stack *stack);

#endif
