/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the programs report of single requests and calls, shared with user space. */
#ifndef JOBIO_BPF_SPAN_RECORDS_H
#define JOBIO_BPF_SPAN_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "common/span_kind.h"

/* Ring buffer `spans`, if the loader allows traces. */
struct span_record {
    __u64 end_ns; /* CLOCK_MONOTONIC */
    __u64 time_ns;
    __u64 offset;
    __u64 bytes;
    __u32 step;
    __u32 dev; /* of a request */
    __u32 pid;
    __u32 tid;   /* 0: unknown */
    __u16 error; /* errno of a request, 1: a failed call of MPI; 0: success */
    __u8 kind;   /* enum span_kind */
    __u8 op;     /* enum io_op, or enum mpi_function_number */
    __u8 flags;  /* SPAN_* */
    __u8 generation;
    __u8 pad[2];
    char comm[16];
};

/* The longest path that is reported completely; one that fills the array was longer. */
#define SPAN_PATH_MAX 255

/* A record of this size instead: that of an open whose path is reported. */
struct span_path_record {
    struct span_record span;
    char path[SPAN_PATH_MAX + 2]; /* "": it could not be read */
    char pad[7];
};

/* Map `traces`, an array that user space maps, by step_trace_slot(): what is left out. */
struct trace_record {
    __u64 least_ns;             /* set by user space: what took less is left out */
    __u64 shorter[SPAN_KINDS];  /* number of those */
    __u64 overflow[SPAN_KINDS]; /* number of those that found the ring buffer full */
    __u64 reported[SPAN_KINDS]; /* number of those that are in the ring buffer, or were */
    __u64 pad[1];               /* to a cache line */
};

/* User space is woken when this part of the ring buffer is in use. */
#define SPANS_WAKE_PART 8

#define JOBIO_SPANS_BYTES (4 * 1024 * 1024)

#endif
