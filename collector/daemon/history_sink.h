/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The history database of [history] as a sink of the outbox: reads its rows, and removes those that
 * were delivered. */
#ifndef JOBIO_COLLECTOR_DAEMON_HISTORY_SINK_H
#define JOBIO_COLLECTOR_DAEMON_HISTORY_SINK_H

#include <systemd/sd-event.h>

#include "common/error.h"
#include "settings/settings.h"

struct history_sink;
struct query;
struct step_queue;
struct store;
struct writer;

#define HISTORY_SINK "history" /* in the outbox */
/* The sinks of the outbox that get every finished step, NULL-terminated; NULL: none. */
const char *const *history_sink_names(const struct settings *settings);

/* Cleans up the outbox of the store, which may be NULL. Without [history], *ret stays NULL, which
 * all functions below accept. */
int history_sink_create(struct history_sink **ret, sd_event *loop, const struct settings *settings,
                        struct store *store, struct error *error);
/* Before the queue is started. */
void history_sink_attach(struct history_sink *sink, struct query *query, struct writer *writer);
/* NULL: no [history], or stopped. */
struct step_queue *history_sink_queue(const struct history_sink *sink);
/* Order: destroy the query, history_sink_stop(), which destroys the queue, destroy the writer,
 * history_sink_destroy(). */
void history_sink_stop(struct history_sink *sink);
void history_sink_destroy(struct history_sink *sink);

#endif
