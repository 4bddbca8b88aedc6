/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace of an ended step as the content of a file, for the machine that wrote it. */
#ifndef JOBIO_COLLECTOR_TRACE_FILE_H
#define JOBIO_COLLECTOR_TRACE_FILE_H

#include <stdio.h>

#include "common/trace.h"

/* 0, -ENOMEM, or the errno of a write. */
int trace_file_write(const struct step_trace *step, FILE *out);

/* Who the step is: the start of each file. */
struct trace_file_step {
    uint32_t jobid, restart, het, step, uid;
    uint32_t array_job, array_task; /* as in struct step_trace */
    uint64_t start_ns;
};
/* Read it from the start of a file. -EBADMSG: it is not such a file. */
int trace_file_read_step(const void *data, size_t size, struct trace_file_step *ret);
/* Read a complete file into the empty *ret. -EBADMSG: it is not such a file, or not all of it;
 * -ENOMEM. *ret is empty then. */
int trace_file_read(const void *data, size_t size, struct step_trace *ret);

#endif
