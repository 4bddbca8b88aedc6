/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The spans of a trace in order, with their parents. Times are by CLOCK_MONOTONIC. */
#ifndef JOBIO_REPORT_TRACE_ARRANGEMENT_H
#define JOBIO_REPORT_TRACE_ARRANGEMENT_H

#include "report/trace/trace.h"

struct trace_row {
    const struct span *span;
    size_t parent; /* the row of the call of MPI-IO; TRACE_NO_ROW: the process */
};
#define TRACE_NO_ROW SIZE_MAX

/* From the start of its first span to the end of its last one. */
struct trace_period {
    uint64_t start_ns, end_ns;
};

struct trace_arrangement {
    struct trace_row *rows;       /* owned; by process, thread and start */
    struct trace_period *periods; /* owned; of the processes of the trace */
    struct trace_period all;      /* of the command or step: all spans are inside */
};

/* 0 or -ENOMEM. */
int trace_arrange(const struct report_trace *report, struct trace_arrangement *ret);
void trace_arrangement_clear(struct trace_arrangement *arrangement);

#endif
