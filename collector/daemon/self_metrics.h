/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of jobiod itself. */
#ifndef JOBIO_COLLECTOR_DAEMON_SELF_METRICS_H
#define JOBIO_COLLECTOR_DAEMON_SELF_METRICS_H

#include "collector/daemon/node_state.h"
#include "collector/daemon/textfile.h"

struct degraded;
struct node_queue;
struct probe;
struct self_metrics;
struct server;
struct step_queue;
struct trace_sink;
struct tracker;
struct writer;

/* The parts that are measured; all must outlive the metrics. */
struct self_metrics_sources {
    uint64_t started_ns; /* CLOCK_BOOTTIME */
    const struct degraded *degraded;
    const struct tracker *tracker;
    struct probe *probe;
    const struct node_queue *deliver;
    const struct step_queue *sink; /* NULL: no [history] */
    const char *sink_name;
    const struct trace_sink *traces; /* NULL: no url in [trace] */
    struct writer *writer;
    const struct server *server; /* NULL: closed */
};

/* The families of metrics, as of now. NULL: out of memory. */
struct self_metrics *self_metrics_create(const struct self_metrics_sources *sources,
                                         const struct textfile *file,
                                         const struct node_reading *reading);
const struct prometheus_family *self_metrics_families(const struct self_metrics *self, size_t *n);
void self_metrics_destroy(struct self_metrics *self); /* accepts NULL */

#endif
