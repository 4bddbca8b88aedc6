/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finished steps of the store's outbox, in its order, as rows for a target. */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_BATCH_H
#define JOBIO_COLLECTOR_DELIVER_STEP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/deliver/target.h"
#include "collector/store/store.h"

struct step_item {
    int64_t id;        /* in the outbox */
    size_t end;        /* of its lines in the text */
    unsigned rows;     /* of it */
    uint64_t ended_ns; /* real time */
};

struct step_batch {
    char *text; /* owned, as are all below */
    size_t size;
    struct step_item *items;
    size_t n;
    bool more;  /* steps that had no room are queued behind these */
    void *body; /* all of it, compressed; NULL: the target wants it as it is */
    size_t body_size;
};

struct step_limits {
    unsigned rows;
    size_t bytes; /* before compression; a step that is larger goes alone */
};

/* How to write the rows; good until the batch is provided. */
struct step_format {
    const struct target_kind *kind;
    const struct target_options *options;
};

/* Read what is queued for the sink (a name in the outbox) behind `after`; n 0: nothing. On the
 * reader's thread. Errors of the store, -ENOMEM. */
int step_batch_read(struct store *reader, const char *sink, int64_t after,
                    const struct step_limits *limits, const struct step_format *format,
                    struct step_batch **ret, struct error *error);
void step_batch_destroy(struct step_batch *batch); /* NULL is fine */

/* Rows of the items [first, last). */
size_t step_batch_rows(const struct step_batch *batch, size_t first, size_t last);
/* The body of these items, malloc'd, compressed if `compress`. The one that was prepared for all
 * items is given away. 0 or -ENOMEM. */
int step_batch_body(struct step_batch *batch, size_t first, size_t last, bool compress, void **ret,
                    size_t *size);

#endif
