/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the node: totals, running jobs and ended jobs, for pushes, /metrics and the
 * textfile.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_NODE_STATE_H
#define JOBIO_COLLECTOR_DAEMON_NODE_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/store/store.h"
#include "report/prometheus/prometheus.h"

struct node_state;
struct notes;
struct query;
struct trace_outbox;
struct tracker;

/* The strings must outlive it. */
struct node_state_options {
    const char *cluster, *node;
    const char *history;               /* the name of the history sink in the outbox; NULL: none */
    const struct trace_outbox *traces; /* those that are to be delivered; NULL: none */
    bool users;                        /* metrics may name users and accounts */
};

/* Restores the names of mounts, so that counters keep their labels after a restart. */
int node_state_create(struct node_state **ret, const struct node_state_options *options,
                      struct notes *notes, struct store *store, struct error *error);
/* Call it before the first node_state_load(). */
void node_state_attach(struct node_state *state, struct tracker *tracker, struct query *query);
void node_state_destroy(struct node_state *state); /* after the query; accepts NULL */

struct node_query {
    const struct job_key *ended; /* include these ended jobs; copied */
    size_t n_ended;
    uint64_t recent_ns; /* and the newest jobs that ended within this time; 0: none */
};
struct sink_stats {
    char *name;
    struct outbox_stats stats;
};
/* Valid until node_state_done_f returns. */
struct node_reading {
    struct prometheus_node node; /* totals, running jobs, and the ended jobs of the query */
    /* with recent_ns: */
    struct store_stats store;
    struct sink_stats *sinks;
    size_t n_sinks;
};
/* On failure, `reading` is NULL and `why` has the reason. */
typedef void (*node_state_done_f)(const struct node_reading *reading, const struct error *why,
                                  void *arg);
/* `done` is called once, inside the call or later. */
void node_state_load(struct node_state *state, const struct node_query *query,
                     node_state_done_f done, void *arg);

#endif
