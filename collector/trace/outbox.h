/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which traces of a directory are still to be delivered, and how much of each. The names of the
 * files say which: they keep it when jobiod ends. A trace is delivered in parts; those that were
 * delivered before a restart are delivered again. On any thread.
 */
#ifndef JOBIO_COLLECTOR_TRACE_OUTBOX_H
#define JOBIO_COLLECTOR_TRACE_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

#include "collector/trace/directory.h"
#include "common/error.h"

struct trace_outbox;

#define TRACE_PARTS_MAX 64 /* of a trace */

struct trace_part {
    int64_t id;      /* ascending, > 0; as long as the outbox exists */
    unsigned number; /* from 0 */
    char name[TRACE_NAME_SIZE];
    uint64_t modified_ns; /* real time: when the trace was put */
};

/* The path is copied. Returns NULL on out-of-memory. */
struct trace_outbox *trace_outbox_create(const char *path);
void trace_outbox_destroy(struct trace_outbox *outbox); /* NULL is fine */
const char *trace_outbox_path(const struct trace_outbox *outbox);

/* Get the first part behind `after` that is still to be delivered. 1; 0: there is none; -ENOMEM, or
 * why the directory cannot be read. */
int trace_outbox_next(struct trace_outbox *outbox, int64_t after, struct trace_part *ret,
                      struct error *error);
/* The trace of this part has so many spans, and each part but the last one has spans_max of them;
 * until then it has one part. */
void trace_outbox_set_parts(struct trace_outbox *outbox, int64_t id, size_t spans,
                            size_t spans_max);
/* Returns the number of spans of a part that is not settled; 0: unknown. */
size_t trace_outbox_spans(struct trace_outbox *outbox, int64_t id);
/* These parts are delivered, or never will be. 0, or why the file cannot be renamed; then the part
 * is to be delivered again. */
int trace_outbox_settle(struct trace_outbox *outbox, const int64_t *ids, size_t n,
                        struct error *error);
/* The trace of this part will never be delivered; the file may be gone. 0 or a negative errno: then
 * the next look finds it again. */
int trace_outbox_drop(struct trace_outbox *outbox, int64_t id, struct error *error);

struct trace_outbox_stats {
    uint64_t waiting;   /* traces that are not, or only in part, delivered */
    uint64_t oldest_ns; /* real time: since when the first of them waits; 0: none does */
};
/* 0, or why the directory cannot be read. */
int trace_outbox_stats(const struct trace_outbox *outbox, struct trace_outbox_stats *ret,
                       struct error *error);
/* Nothing in the directory is to be delivered any more. *n: how many traces that were. 0, or why
 * the directory cannot be read. */
int trace_outbox_forget(const char *path, size_t *n, struct error *error);

#endif
