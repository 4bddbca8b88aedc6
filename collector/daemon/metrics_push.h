/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pushes of metrics: sends the state of the node, and keeps what is not yet acknowledged. */
#ifndef JOBIO_COLLECTOR_DAEMON_METRICS_PUSH_H
#define JOBIO_COLLECTOR_DAEMON_METRICS_PUSH_H

#include <systemd/sd-event.h>

#include "collector/daemon/socket.h"
#include "settings/settings.h"

struct degraded;
struct metrics_push;
struct node_queue;
struct node_state;
struct notes;
struct store;

/* The loop, the settings, the node's name, the notes and the state must outlive it. */
struct metrics_push_options {
    sd_event *loop;
    const struct settings *settings;
    struct degraded *degraded; /* NULL: fail if the push is not usable, else go on without it */
    const char *node;
    struct notes *notes;
    struct node_state *node_state;
    struct store *store; /* read only at creation; NULL: nothing to restore */
};

int metrics_push_create(struct metrics_push **ret, const struct metrics_push_options *options,
                        struct error *error);
struct node_queue *metrics_push_queue(const struct metrics_push *push);
/* Answer a retirement that is under way. Call it after the query of node_state was destroyed.
 * Accepts NULL. */
void metrics_push_destroy(struct metrics_push *push);

/* Remove the metrics of this node from all gateways, and answer the request. */
void metrics_push_retire(struct metrics_push *push, struct request *request);

#endif
