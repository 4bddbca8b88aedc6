/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of one sink in the outbox of the store, as the source of a step_queue: they are read on
 * the thread of the queries and removed on the thread of the writer.
 */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_OUTBOX_H
#define JOBIO_COLLECTOR_DELIVER_STEP_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/deliver/step_queue.h"

struct query;
struct writer;

/* A member of its owner, which fills all but `writes`; the pointers are borrowed. It must outlive
 * the last result of the query and of the writer. */
struct step_outbox {
    const char *sink;
    struct step_queue *queue; /* NULL: stopped */
    struct query *query;
    struct writer *writer;
    bool final; /* as of writer_submit() */
    /* Called when n rows were removed (why: ""), or one was set aside because of `why`. If result
     * is negative, that failed, and the queue will deliver them again. */
    void (*settled)(int result, const struct error *error, size_t n, const char *why, void *arg);
    void *arg;
    unsigned writes; /* under way */
};

/* For the hooks of the queue: `read`, and `delivered` (why: "") or `refused`. */
void step_outbox_read(struct step_outbox *outbox, int64_t after, const struct step_limits *limits,
                      const struct step_format *format);
void step_outbox_settle(struct step_outbox *outbox, const int64_t *ids, size_t n, const char *why);

#endif
