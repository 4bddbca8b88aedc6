/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request `status`: the state of the collector as one JSON object. */
#ifndef JOBIO_COLLECTOR_DAEMON_STATUS_H
#define JOBIO_COLLECTOR_DAEMON_STATUS_H

#include "collector/daemon/socket.h"
#include "collector/probe/selftest.h"
#include "settings/settings.h"

struct degraded;
struct node_queue;
struct peers;
struct metrics;
struct probe;
struct query;
struct recorder;
struct runs;
struct services;
struct step_queue;
struct trace_sink;
struct tracker;
struct writer;

/* The parts that it reports about. */
struct status_sources {
    uint64_t started_ns; /* CLOCK_BOOTTIME */
    const struct settings *settings;
    const char *node, *runtime_dir, *pin_dir;
    const struct degraded *degraded;
    struct probe *probe;
    const struct selftest *selftest; /* all 0: not done */
    struct tracker *tracker;
    struct writer *writer;
    struct query *small, *large;
    struct recorder *recorder;
    struct node_queue *deliver;
    const struct step_queue *sink;   /* NULL: no [history] */
    const char *sink_name;           /* in the outbox */
    const struct trace_sink *traces; /* NULL: no url in [trace] */
    struct peers *peers;             /* NULL: no [peers] */
    struct metrics *metrics;
    struct runs *runs;
    struct services *services; /* NULL: not counted */
    struct server *server;
};

/* Answer the request, inside the call or later. `sources` must outlive the last result of the
 * query.
 */
void status_answer(const struct status_sources *sources, struct request *request);
/* Log what a started jobiod does, in one line. */
void status_log_start(const struct status_sources *sources, const char *store_path);

#endif
