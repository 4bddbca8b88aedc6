/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace of `jobio run`: its options and its file. */
#ifndef JOBIO_CLI_RUN_TRACE_H
#define JOBIO_CLI_RUN_TRACE_H

#include <stdio.h>

#include "collector/trace/tracer.h"
#include "common/error.h"
#include "common/job.h"
#include "common/trace.h"

struct run_trace {
    const char *path, *format; /* from the options; NULL: no trace, and the default format */
    const char *of_word;       /* --trace-of; NULL: the default */
    enum trace_of of;          /* set by run_trace_check() */
    bool paths;                /* --trace-paths */
    struct trace_limits limits;
    FILE *out; /* owned */
};

/* Check the options, and set the limits that they leave at 0. -EINVAL: there is no such format, or
 * no file. */
int run_trace_check(struct run_trace *trace, struct error *error);
/* Open the file. */
int run_trace_open(struct run_trace *trace, struct error *error);
/* Write the spans to it, and close it. The root is a child of the span in TRACEPARENT. */
int run_trace_write(struct run_trace *trace, const struct trace *spans,
                    const struct job_account *job, struct error *error);
void run_trace_clear(struct run_trace *trace);

#endif
