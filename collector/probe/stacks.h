/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The user stacks of long calls, as the programs report them. */
#ifndef JOBIO_COLLECTOR_PROBE_STACKS_H
#define JOBIO_COLLECTOR_PROBE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"
#include "common/stack.h"

struct probe;

/* A thread that returned from a long call. The pointers are valid during the callback. */
struct probe_stack {
    uint32_t step, pid;
    uint32_t uid;     /* of the thread; UINT32_MAX: it has privileges that its user does not have */
    uint64_t started; /* of the process; with the next one and pid: the program in memory */
    uint64_t stack_start;      /* of its first thread, as in /proc/PID/stat */
    uint64_t time_ns;          /* of the call */
    const char *comm;          /* name of the thread; STACK_COMM bytes, untrusted text */
    const uint64_t *registers; /* of user space: bpf/stack_records.h */
    const uint8_t *bytes;      /* a copy of the memory from the address `from` on */
    uint64_t from;
    size_t size; /* of the copy; 0: the stack was not in memory */
};

struct stack_limits {
    uint64_t least_ns;   /* calls from this time on are long; at least probe_options.long_ns */
    uint32_t per_second; /* stacks, at most; more calls are only counted */
};

/* Report the stacks of a step of this probe from now on. A step whose stacks an earlier process
 * reported keeps its limits and its counts, which are in *limits then. The probe must have been
 * created with probe_options.long_ns. -ENOTSUP: it was not, this kernel cannot do it, or the probe
 * is blind. */
int probe_stacks_start(struct probe *probe, uint32_t step, struct stack_limits *limits,
                       struct error *error);
/* Report no more stacks of the step, and forget its numbers. */
void probe_stacks_end(struct probe *probe, uint32_t step);
/* Read the numbers of long calls of the step, with and without stacks. */
int probe_stacks_counts(const struct probe *probe, uint32_t step, struct stack_counts *ret,
                        struct error *error);

/* A descriptor that is readable when there are stacks to read; -1: the probe was created without
 * them. The first stacks of a program (STACK_FIRST) make it readable at once, because its process
 * may end soon; later ones may wait for STACK_WAKE_NS. */
int probe_stacks_fd(const struct probe *probe);
/* Pass on the stacks that were reported since the last call, at most `max`; returns 1 if there may
 * be more. */
typedef void (*probe_stack_f)(const struct probe_stack *stack, void *arg);
int probe_stacks(struct probe *probe, uint32_t max, probe_stack_f each, void *arg,
                 struct error *error);
/* More than there is room for in the ring buffer: all that were reported before the call. */
#define PROBE_STACKS_ALL 1024

#endif
