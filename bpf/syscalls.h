/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The system calls as the programs of syscalls.bpf.c see them: one entry a number, filled in by the
 * loader (collector/probe/syscalls.c has the table).
 */
#ifndef JOBIO_BPF_SYSCALLS_H
#define JOBIO_BPF_SYSCALLS_H

/* Which file a call works on. */
enum syscall_kind {
    SYSCALL_UNKNOWN, /* not counted here */
    SYSCALL_FD,      /* that of the descriptor */
    SYSCALL_TWO,     /* those of two descriptors, of which the second is the target */
    SYSCALL_AT,      /* that of the descriptor, if the path is empty; others are not counted here */
    SYSCALL_NULL,    /* the same, if there is no path */
    SYSCALL_OPEN,    /* the one that it opens */
};

/* Numbers are places of arguments. */
struct syscall_entry {
    __u8 kind;   /* enum syscall_kind */
    __u8 op;     /* enum io_op */
    __u8 fd;     /* the descriptor */
    __u8 second; /* SYSCALL_TWO: the target's; SYSCALL_AT, SYSCALL_NULL: the path */
    __u8 flags;  /* SYSCALL_AT */
    __u8 target; /* SYSCALL_TWO: enum io_op on the target */
    __u8 pad[2];
};

/* Above all numbers; a power of two. */
#define SYSCALL_COUNT 512

#endif
