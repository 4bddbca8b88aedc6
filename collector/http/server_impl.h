/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to server.c (connections, and libmicrohttpd on the loop) and exchange.c (requests and
 * their answers). */
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

/* All connections have the same limit, so the list is ordered by due time. */
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

/* Owned by its connection, and by the handler from its call until its answer. */
struct http_exchange {
    struct peer *peer;                 /* NULL: the connection is closed */
    struct MHD_Connection *connection; /* of `peer` */
    struct MHD_Response *response;     /* NULL: none yet */
    unsigned code;
    bool handled;   /* the handler has been called */
    bool held;      /* the handler has not answered yet */
    bool suspended; /* the connection is suspended until there is a response */
    char *body;
    size_t size, room, excess;
    const char *why; /* not NULL: refused, with `code` */
    char address[INET6_ADDRSTRLEN];
};

struct listener {
    union address address;
    socklen_t size;
    char text[64];             /* the address, for messages */
    struct MHD_Daemon *daemon; /* NULL: not bound */
    sd_event_source *io;
    unsigned port;
};

struct http_server {
    sd_event *loop;
    sd_event_source *timer, *again, *retry;
    struct error why; /* of the last failed bind; "": all are bound */
    struct http_server_options options;
    char *userpwd; /* NULL: none is needed */
    struct route *routes;
    size_t n_routes;
    struct peers peers;
    struct http_server_stats stats;
    bool dying;
    size_t n_listeners;
    struct listener listeners[];
};

/* exchange.c: libmicrohttpd's access handler and its completion callback. */
enum MHD_Result exchange_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                                    const char *method, const char *version, const char *data,
                                    size_t *size, void **context);
void exchange_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);
/* Respond 503, because the handler has not answered in time. Returns false if no handler is
 * running. */
bool exchange_expire(struct http_exchange *exchange);
/* Resume the suspended connection of an exchange that waits for its handler. */
void exchange_wake(struct http_exchange *exchange);

/* Run libmicrohttpd once more, although none of its descriptors is ready. */
static inline void server_run_again(struct http_server *server)
{
    if (!server->dying)
        (void)sd_event_source_set_enabled(server->again, SD_EVENT_ONESHOT);
}

#endif
