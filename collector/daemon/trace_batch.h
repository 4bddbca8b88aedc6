/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The next part of a trace that is to be delivered, as a batch with one item for a step_queue. */
#ifndef JOBIO_COLLECTOR_DAEMON_TRACE_BATCH_H
#define JOBIO_COLLECTOR_DAEMON_TRACE_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

struct step_batch;
struct trace_outbox;

/* Spans of a request: about 2 MB of JSON, 4 MB at most. Collectors accept 20 MiB by default. A
 * trace that has more than TRACE_PARTS_MAX times as many is sent in larger requests. */
#define TRACE_BATCH_SPANS 4000

/* Read the part behind `after`; an empty batch: there is none. Traces that cannot be used any more
 * are dropped: added to *unreadable, unless their files are gone. On any thread. 0, -ENOMEM, or why
 * the directory cannot be read. */
int trace_batch_read(struct trace_outbox *outbox, int64_t after, size_t spans_max,
                     struct step_batch **ret, uint64_t *unreadable, struct error *error);

#endif
