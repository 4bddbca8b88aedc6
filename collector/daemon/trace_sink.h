/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The OpenTelemetry collector of [trace] as a target: reads the undelivered traces of the
 * directory, and marks those that were delivered. */
#ifndef JOBIO_COLLECTOR_DAEMON_TRACE_SINK_H
#define JOBIO_COLLECTOR_DAEMON_TRACE_SINK_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "common/error.h"
#include "settings/settings.h"

struct json_object;
struct query;
struct step_queue;
struct trace_outbox;
struct trace_sink;
struct tree;
struct writer;

#define TRACE_SINK "traces" /* in metrics */

/* [trace] has an URL and allows traces. */
bool trace_sink_is_wanted(const struct settings *settings);
/* state_dir: the parent of the directory; NULL: only check the settings. If no sink is wanted, *ret
 * stays NULL, which all functions below accept, and the traces that wait are given up. */
int trace_sink_create(struct trace_sink **ret, sd_event *loop, const struct settings *settings,
                      const char *state_dir, struct error *error);
/* Start to deliver. */
void trace_sink_start(struct trace_sink *sink, struct query *query, struct writer *writer);
/* The trace of a step is in the directory. */
void trace_sink_notify(struct trace_sink *sink);
/* Order: destroy the query, trace_sink_stop(), destroy the writer, trace_sink_destroy(). */
void trace_sink_stop(struct trace_sink *sink);
void trace_sink_destroy(struct trace_sink *sink);

/* NULL: no sink, or stopped. */
const struct step_queue *trace_sink_queue(const struct trace_sink *sink);
/* For trace_outbox_stats() on another thread; NULL: no sink. */
const struct trace_outbox *trace_sink_outbox(const struct trace_sink *sink);

/* Since the start of the process. */
struct trace_sink_counts {
    uint64_t delivered,
        rejected;        /* spans: taken; not taken of a request that was (partial success) */
    uint64_t refused;    /* spans of requests that were refused and are not repeated */
    uint64_t unreadable; /* traces */
};
void trace_sink_counts(const struct trace_sink *sink, struct trace_sink_counts *ret);
/* For `jobio status`: as step_queue_status(), with "spans", "rejected", "refused" (spans, too) and
 * "last_message" instead of "steps" and "rows". The caller puts it; NULL on out-of-memory. */
struct json_object *trace_sink_status(const struct trace_sink *sink, struct tree *tree);

#endif
