/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traces of ended steps, a file each, in a directory of limited size. On any thread. */
#ifndef JOBIO_COLLECTOR_TRACE_DIRECTORY_H
#define JOBIO_COLLECTOR_TRACE_DIRECTORY_H

#include <stdbool.h>
#include <stddef.h>

#include "common/error.h"
#include "common/trace.h"

struct trace_directory {
    const char *path;   /* created by the first put */
    uint64_t max_bytes; /* of all files */
    uint64_t keep_ns;   /* 0: until there is no room */
    bool deliver;       /* what is put is still to be delivered: collector/trace/outbox.h */
};

/* Of a file; it ends with TRACE_UNDELIVERED until the trace has been delivered. */
#define TRACE_NAME_SIZE 128
#define TRACE_UNDELIVERED ".undelivered"
bool trace_name_is_undelivered(const char *name);

/* Write the trace of a step. It replaces that of the same step. What is too old is removed; then
 * the oldest of the user who has the most bytes, until there is room; -ENOSPC: there is not enough
 * for this one alone. *undelivered: how many of those that were removed had not been delivered; set
 * also on failure. */
int trace_directory_put(const struct trace_directory *directory, const struct step_trace *step,
                        uint64_t *undelivered, struct error *error);
/* Remove the same without a new trace. No directory: there is nothing to remove. */
int trace_directory_sweep(const struct trace_directory *directory, uint64_t *undelivered,
                          struct error *error);
/* Read one file into the empty *ret. -ENOENT: it is not there; -EBADMSG: it is not a trace;
 * -ENOMEM, or why it cannot be read. */
int trace_directory_read(const char *path, const char *name, struct step_trace *ret);

/* Which steps. */
struct trace_query {
    uint32_t jobid; /* with is_task: the number of the array */
    bool is_task, is_step;
    uint32_t task, step;
    uint32_t uid; /* of this user; UINT32_MAX: of all users */
};

/* Get the steps of the newest run of the job, by start; *ret is an array of *n, for
 * trace_directory_free(). No step: there are no traces of the job, or they are not this user's.
 * Files that cannot be read are left out. max_bytes: of the files; beyond it the steps that started
 * last are left out; *left_out is their number. 0 or -ENOMEM, or why the directory cannot be read.
 */
int trace_directory_get(const char *path, const struct trace_query *query, uint64_t max_bytes,
                        struct step_trace **ret, size_t *n, size_t *left_out, struct error *error);
void trace_directory_free(struct step_trace *steps, size_t n);

#endif
