/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What goes to a sink in one request: the rows of steps from the outbox, in its order. */
#ifndef JOBIO_COLLECTOR_DELIVER_STEP_BATCH_H
#define JOBIO_COLLECTOR_DELIVER_STEP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/rows.h"
#include "collector/store/store.h"

struct sink_item {
    int64_t id;    /* in the outbox */
    size_t end;    /* of its lines in the text */
    unsigned rows; /* of it */
};

struct sink_batch {
    char *text; /* owned, as are all below */
    size_t size;
    struct sink_item *items;
    size_t n;
    bool more;  /* steps that had no room wait behind these */
    void *body; /* all of it, compressed */
    size_t body_size;
};

struct sink_limits {
    unsigned rows;
    size_t bytes; /* before compression; a step that is larger goes alone */
};

/* What waits for the sink behind `after`; n 0: nothing. On the reader's thread. Errors of the
 * store, -ENOMEM. */
int sink_batch_read(struct store *reader, const char *sink, int64_t after,
                    const struct sink_limits *limits, const struct sink_row_options *options,
                    struct sink_batch **ret, struct error *error);
void sink_batch_destroy(struct sink_batch *batch); /* NULL is fine */

/* Of the items [first, last). */
size_t sink_batch_rows(const struct sink_batch *batch, size_t first, size_t last);
/* Their body, compressed, malloc'd; that of all items is given away. 0 or -ENOMEM. */
int sink_batch_body(struct sink_batch *batch, size_t first, size_t last, void **ret, size_t *size);

#endif
