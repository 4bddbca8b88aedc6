/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What http_server.c (connections, and libmicrohttpd on the loop) and http_exchange.c (requests and
 * their answers) share. Nobody else includes it. */
#ifndef JOBIO_COLLECTOR_HTTP_SERVER_IMPL_H
#define JOBIO_COLLECTOR_HTTP_SERVER_IMPL_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "collector/http/server.h"
#include "common/address.h"

struct route {
    const char *method, *path;
    http_handler_f handler;
    void *arg;
};

/* The same limit for all: who came first is due first. */
struct peer {
    TAILQ_ENTRY(peer) link;
    struct http_server *server;
    struct http_exchange *exchange;
    uint64_t due_us;
    int fd;
    bool cut, answering;
    union address address;
};
TAILQ_HEAD(peers, peer);

/* Owned by its connection and, from the call of the handler to the answer, by the handler as well.
 */
struct http_exchange {
    struct peer *peer;                 /* NULL: the connection has gone */
    struct MHD_Connection *connection; /* of `peer` */
    struct MHD_Response *response;     /* to be queued */
    unsigned code;
    bool handled;   /* the handler has been called */
    bool held;      /* and has not answered */
    bool suspended; /* until there is a response */
    char *body;
    size_t size, room, excess;
    const char *why; /* not NULL: refused, with `code` */
    char address[INET6_ADDRSTRLEN];
};

struct listener {
    struct MHD_Daemon *daemon;
    sd_event_source *io;
    unsigned port;
};

struct http_server {
    sd_event *loop;
    sd_event_source *timer, *again;
    struct http_server_options options;
    struct route *routes;
    size_t n_routes;
    struct peers peers;
    struct http_server_stats stats;
    bool dying;
    size_t n_listeners;
    struct listener listeners[];
};

/* libmicrohttpd's access handler and its end. */
enum MHD_Result exchange_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *size, void **context);
void exchange_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);
/* The handler has not answered in time: 503. False: no handler is thinking. */
bool exchange_expire(struct http_exchange *exchange);
/* Let the connection of an exchange that waits for its handler go on, to its end. */
void exchange_wake(struct http_exchange *exchange);
/* Let libmicrohttpd look at what it has, though no descriptor of it is ready. */
void http_server_run_again(struct http_server *server);

#endif
