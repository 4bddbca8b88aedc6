/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace of a job: single requests and calls of MPI-IO, as spans of time. */
#ifndef JOBIO_COMMON_TRACE_H
#define JOBIO_COMMON_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/io_op.h"
#include "common/span_kind.h"

struct span {
    uint64_t start_ns, time_ns; /* the start by CLOCK_MONOTONIC */
    uint64_t bytes;             /* with SPAN_BYTES */
    uint64_t offset;            /* with SPAN_OFFSET */
    uint64_t dev;               /* of a request: as in struct probe_mount */
    const char *name;           /* constant: "write", "MPI_File_write_at_all" */
    const char *mount;          /* of a request; owned by the trace. NULL: not looked up */
    char *path;                 /* of an open, as it was given; owned by the trace. Untrusted text,
                                 * NULL: none */
    uint32_t pid, tid;          /* tid 0: unknown */
    uint16_t error;             /* errno of a request, 1: a failed call of MPI; 0: success */
    uint8_t kind;               /* enum span_kind */
    uint8_t flags;              /* SPAN_* */
};

/* What a trace has spans of. */
enum trace_of {
    TRACE_OF_OPS, /* requests, and calls of MPI-IO if they are counted */
    TRACE_OF_MPI, /* only calls of MPI-IO: requests are not traced, and not counted as left out */
    TRACE_OFS,
};

#define TRACE_COMM 16

struct trace_process {
    uint32_t pid;
    uint32_t rank;         /* with has_rank */
    char comm[TRACE_COMM]; /* "": unknown. Untrusted text */
    bool has_rank;
    bool unread; /* its environment could not be read: whether it has a rank is not known */
};

/* How many are not in the trace. */
struct trace_left_out {
    uint64_t shorter[SPAN_KINDS];  /* than those that were kept */
    uint64_t overflow[SPAN_KINDS]; /* came faster than they could be read, however long they took */
};

/* A zeroed struct is an empty trace. */
struct trace {
    struct span *spans; /* owned */
    size_t n_spans;
    struct trace_process *processes; /* owned; those of the spans, ascending pid */
    size_t n_processes;
    char **mounts; /* owned: the names in the spans */
    size_t n_mounts;
    struct trace_left_out left_out;
    enum trace_of of;
    bool paths;       /* of opens were asked for */
    uint64_t real_ns; /* CLOCK_REALTIME at 0 of CLOCK_MONOTONIC */
};

/* The trace of a step on one node. A zeroed struct is empty. */
struct step_trace {
    struct trace trace;
    char *cluster, *node, *name; /* owned; the name of the job is untrusted, NULL: not known */
    char *caller;                /* owned; TRACEPARENT of its environment; NULL: it has none */
    uint32_t jobid, restart, het, step, uid;
    uint32_t array_job, array_task; /* array_job 0: not a task of an array, or not known */
    uint64_t start_ns, end_ns;      /* real time */
    bool partial;                   /* jobiod did not trace it from its start */
};

/* Returns its word, "ops" or "mpi". */
const char *trace_of_name(enum trace_of of);
/* Store what this word means in *ret; -EINVAL: it is another one, or NULL. */
int trace_of_parse(const char *text, enum trace_of *ret);

/* Returns the number of spans that the programs saw, those that are not in the trace included. */
uint64_t trace_spans(const struct trace *trace);
uint64_t trace_dropped(const struct trace *trace, enum span_kind kind);
/* Returns the number of processes that were not read. */
uint64_t trace_unread(const struct trace *trace);
/* Returns the number of opens that have no path, although it was asked for. */
uint64_t trace_paths_missing(const struct trace *trace);
/* Returns the process, NULL: it is not in the trace. */
const struct trace_process *trace_process(const struct trace *trace, uint32_t pid);
/* Returns the name as a string of the trace; NULL on out-of-memory. */
const char *trace_mount(struct trace *trace, const char *name);
void trace_clear(struct trace *trace);
void step_trace_clear(struct step_trace *step);

#endif
