/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of other nodes: answers them from the tracker and the store. */
#ifndef JOBIO_COLLECTOR_DAEMON_PEER_REQUESTS_H
#define JOBIO_COLLECTOR_DAEMON_PEER_REQUESTS_H

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "common/error.h"
#include "settings/settings.h"

struct degraded;
struct message;
struct passed_list;
struct peer_requests;
struct peers;
struct query;
struct recorder;
struct request;
struct store;
struct tracker;
struct writer;

bool peer_requests_are_wanted(const struct settings *settings);
/* Check [peers] without side effects. */
int peer_requests_check(const struct settings *settings, struct error *error);
/* Clean up the outbox after an earlier process. */
int peer_requests_tidy_outbox(struct store *store, const struct settings *settings,
                              struct error *error);

/* All must outlive it, except the query and the writer: see peers_stop(). */
struct peer_requests_options {
    sd_event *loop;
    const struct settings *settings;
    const char *node, *runtime_dir;
    struct degraded *degraded;
    const struct passed_list *sockets;
    struct tracker *tracker;
    struct recorder *recorder; /* queries Slurm */
    struct query *query;
    struct writer *writer;
    /* Answers the requests of users on other hosts. */
    void (*handle)(struct request *request, const struct message *m, void *arg);
    void *arg;
};

/* Without [peers], *ret stays NULL, which all functions below accept. */
int peer_requests_create(struct peer_requests **ret, const struct peer_requests_options *options,
                         struct error *error);
struct peers *peer_requests_peers(const struct peer_requests *requests); /* NULL: no [peers] */
/* Tasks have ended: answer the requests that waited for that. */
void peer_requests_recheck(struct peer_requests *requests);
/* Answer all requests that wait, and stop the peers. */
void peer_requests_stop(struct peer_requests *requests);
void peer_requests_destroy(struct peer_requests *requests);

#endif
