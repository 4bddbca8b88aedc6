/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a span of a trace is. Shared with the BPF programs: this header includes nothing. */
#ifndef JOBIO_COMMON_SPAN_KIND_H
#define JOBIO_COMMON_SPAN_KIND_H

enum span_kind {
    SPAN_REQUEST, /* one request of the account */
    SPAN_MPI,     /* one call of an MPI-IO function */
    SPAN_KINDS,
};

/* Flags of a span. Only the end of an asynchronous or untimed one is known. */
#define SPAN_ASYNC 1     /* no thread waited for it */
#define SPAN_UNTIMED 2   /* its start was not seen, or its time is a part of another request's */
#define SPAN_BYTES 4     /* its number of bytes is known */
#define SPAN_OFFSET 8    /* its offset in the file is known */
#define SPAN_PATH_CUT 16 /* its path is only the start of it */

#endif
