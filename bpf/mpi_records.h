/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keys and values of the maps of the MPI programs, shared with user space. They are not pinned. All
 * keys start with the step number. */
#ifndef JOBIO_BPF_MPI_RECORDS_H
#define JOBIO_BPF_MPI_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "common/io_op.h"
#include "common/mpi_class.h"

#define MPI_MAX_COUNTERS 4096
#define MPI_MAX_STEPS 8192
#define MPI_MAX_PROCESSES 16384
#define MPI_MAX_CALLS 16384
#define MPI_EXECS_BYTES (64 * 1024)

/* Map `mpi_counters`, a hash. */
struct mpi_counter_key {
    __u32 step;
    __u32 class; /* enum mpi_class */
};

#define MPI_SUM_MEMBER(member) __u64 member;
struct mpi_counter_value {
    MPI_SUMS(MPI_SUM_MEMBER)
    __u64 size[IO_BUCKETS];
    __u64 latency[IO_BUCKETS];
};
#undef MPI_SUM_MEMBER

/* Map `mpi_steps`, a hash: number of a step whose MPI-IO is counted -> what is missing from its
 * counters. */
struct mpi_step_record {
    __u64 late;    /* processes that called a function, but were not seen to start MPI */
    __u64 calls;   /* calls without room for them or their counters */
    __u64 ends;    /* calls whose return was not seen */
    __u64 execs;   /* programs that were started, but could not be announced */
    __u64 unnoted; /* calls of processes for which there was no room; they may be late */
};

/* Map `mpi_processes`, a hash: the processes that called a function. */
struct mpi_process_key {
    __u32 step;
    __u32 pid;
};

struct mpi_process_record {
    __u64 start_ns; /* when it was started: pids are reused */
    __u32 init;     /* 1: it was seen to start MPI */
    __u32 pad;
};

/* Map `mpi_calls`, a hash: the call that a thread is in. */
struct mpi_call_key {
    __u32 step;
    __u32 tid;
};

struct mpi_call_record {
    __u64 thread_ns; /* when the thread was started */
    __u64 stack;     /* the stack pointer at the entry */
    __u64 place;     /* the address of the function */
    __u64 entry_ns;
    __u64 file;
    __u64 count;
    __u64 type;
    __u64 status;
    __u64 cookie;
    __u64 path; /* of File_open: the address of the name of the file */
};

/* Map `mpi_splits`, a hash: split calls that have begun. A file has at most one at a time. */
struct mpi_split_key {
    __u32 step;
    __u32 pid;
    __u64 file;
};

struct mpi_split_record {
    __u64 time_ns;    /* in the first function */
    __u64 bytes;      /* that were requested */
    __u32 known;      /* 0: they are not known */
    __u32 impossible; /* 1: the arguments are not what they are in the layout of the library */
};

/* Ring buffer `mpi_execs`: a process of a step executes another program. */
struct mpi_exec_record {
    __u32 step;
    __u32 pid;
    __u64 at_ns; /* CLOCK_MONOTONIC */
    __u64 known; /* 1: its last program called a function, and is counted if it was late */
};

#endif
