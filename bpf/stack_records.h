/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs report of the user stacks of long calls, shared with user space. */
#ifndef JOBIO_BPF_STACK_RECORDS_H
#define JOBIO_BPF_STACK_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* The stack is copied in chunks, so that the end of its mapping does not prevent the copy of what
 * is before it. */
#define STACK_CHUNK 1024
#define STACK_CHUNKS 16

/* The registers of user space in the order of the kernel's struct pt_regs on x86-64. */
enum stack_register {
    STACK_R15,
    STACK_R14,
    STACK_R13,
    STACK_R12,
    STACK_RBP,
    STACK_RBX,
    STACK_R11,
    STACK_R10,
    STACK_R9,
    STACK_R8,
    STACK_RAX,
    STACK_RCX,
    STACK_RDX,
    STACK_RSI,
    STACK_RDI,
    STACK_ORIG_RAX,
    STACK_RIP,
    STACK_CS,
    STACK_FLAGS,
    STACK_RSP,
    STACK_REGISTERS
};

/* Ring buffer `stacks`, if the loader allows stacks. */
struct stack_record {
    __u64 time_ns; /* of the call */
    __u64 started; /* the start of the process, and where the stack of its first thread starts: */
    __u64 stack_start; /* with its number they identify one program in memory */
    __u64 registers[STACK_REGISTERS];
    __u32 step;
    __u32 pid;
    __u32 size;    /* of the copy */
    __u32 uid;     /* -1: the thread has privileges that its user does not have */
    char comm[16]; /* of the thread */
    /* A copy of the stack, from the stack pointer rounded down to STACK_CHUNK. */
    __u8 bytes[STACK_CHUNKS * STACK_CHUNK];
};

/* Map `stack_steps`, by step: its long calls. User space sets the first two. */
struct stack_step {
    __u64 least_ns;    /* calls from this time on, or from features.long_ns if that is more */
    __u64 interval_ns; /* between two stacks, on average of a second */
    __u64 due_ns;      /* CLOCK_MONOTONIC: no stack before it */
    __u64 woken_ns;    /* and when user space was woken the last time */
    __u64 calls, time_ns;
    __u64 unsampled_calls, unsampled_ns; /* of these: without a stack because of the interval */
    __u64 lost_calls, lost_ns;           /* because the ring buffer was full */
};

#define JOBIO_STACKS_BYTES (4 * 1024 * 1024)
#define JOBIO_STACK_PROGRAMS 4096
/* Stacks of a program that are read at once, and how long the later ones may wait. */
#define STACK_FIRST 32
#define STACK_WAKE_NS 250000000ull

#endif
