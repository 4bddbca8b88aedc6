/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of system calls for the programs of syscalls.bpf.c: one entry per number, filled in by
 * the loader from the table in collector/probe/syscalls.c.
 */
#ifndef JOBIO_BPF_SYSCALLS_H
#define JOBIO_BPF_SYSCALLS_H

/* The file that a call works on. */
enum syscall_kind {
    SYSCALL_UNKNOWN, /* not counted here */
    SYSCALL_FD,      /* the file of the descriptor */
    SYSCALL_TWO,     /* the files of two descriptors; the second is the target */
    SYSCALL_AT,      /* the file of the descriptor if the path is empty; else not counted */
    SYSCALL_NULL,    /* the file of the descriptor if the path is NULL; else not counted */
    SYSCALL_OPEN,    /* the file that it opens */
    SYSCALL_CLOSE,   /* the file of the descriptor if it has no other user; else not counted */
    SYSCALL_LOCK,    /* the file of the descriptor if fcntl(2) locks; else not counted */
};

/* fd, second and flags are indexes of arguments. */
struct syscall_entry {
    __u8 kind;   /* enum syscall_kind */
    __u8 op;     /* enum io_op */
    __u8 fd;     /* the descriptor */
    __u8 second; /* SYSCALL_TWO: the target descriptor; SYSCALL_AT, SYSCALL_NULL and
                  * SYSCALL_OPEN: the path; SYSCALL_LOCK: the command */
    __u8 flags;  /* SYSCALL_AT */
    __u8 target; /* SYSCALL_TWO: enum io_op on the target */
    __u8 pad[2];
};

/* Larger than every number; a power of two. */
#define SYSCALL_COUNT 512

#endif
