/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The types of requests: who may send them, and which part answers. */
#ifndef JOBIO_COLLECTOR_DAEMON_DISPATCH_H
#define JOBIO_COLLECTOR_DAEMON_DISPATCH_H

#include "collector/daemon/questions.h"
#include "collector/daemon/socket.h"

struct live_view;
struct metrics;
struct metrics_push;
struct peer_requests;
struct reports;
struct runs;
struct status_sources;
struct tracker;

/* The parts that answer. All must outlive the server. */
struct dispatch {
    const char *runtime_dir;
    struct tracker *tracker;
    struct peer_requests *peer_requests; /* NULL: no [peers] */
    struct reports *reports;
    struct live_view *live_view;
    struct runs *runs;
    struct metrics *metrics;
    struct metrics_push *push;
    const struct status_sources *status;
    struct question_sources questions;
};

/* Answer one request; `arg` is a struct dispatch. For `handle` of struct server_hooks. */
void dispatch_request(struct request *request, const struct message *m, void *arg);

/* Answer one request of a user on another host, who may send only queries. */
void dispatch_remote(struct request *request, const struct message *m, void *arg);

#endif
