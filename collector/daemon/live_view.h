/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request query-top: what each job, run and service does now. The sums are read on the loop;
 * the query's thread makes the text. */
#ifndef JOBIO_COLLECTOR_DAEMON_LIVE_VIEW_H
#define JOBIO_COLLECTOR_DAEMON_LIVE_VIEW_H

#include "collector/daemon/socket.h"

struct live_view;
struct probe;
struct query;
struct runs;
struct services;
struct tracker;

/* All must outlive it. */
struct live_view_options {
    const char *node;
    struct probe *probe;
    struct tracker *tracker;
    struct runs *runs;
    struct services *services; /* NULL: not counted */
    const char *no_services;   /* why they are not counted */
    struct query *query;
};

int live_view_create(struct live_view **ret, const struct live_view_options *options,
                     struct error *error);
void live_view_destroy(struct live_view *view); /* accepts NULL */
/* Answer the request, inside the call or later. */
void live_view_answer(struct live_view *view, struct request *request, const struct message *m);

#endif
