/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What server.c (connections, and libmicrohttpd on the loop) needs of exchange.c (requests and
 * their answers), and the structures that both use. */
#ifndef JOBIO_COLLECTOR_HTTP_EXCHANGE_IMPL_H
#define JOBIO_COLLECTOR_HTTP_EXCHANGE_IMPL_H

#include <microhttpd.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <systemd/sd-event.h>

#include "collector/http/exchange.h"
#include "common/address.h"

/* enum MHD_Result since libmicrohttpd 0.9.71, int before. */
typedef __typeof__(MHD_queue_response(NULL, 0, NULL)) mhd_result;

struct http_server;

struct route {
    const char *method, *path;
    http_handler_f handler;
    void *arg;
};

/* What all exchanges of a server share. The server owns what it points to. */
struct exchange_host {
    struct route *routes;
    size_t n_routes;
    char *userpwd;               /* NULL: none is needed */
    size_t body_max, bodies_max; /* see http_server_options */
    size_t bodies;               /* bytes in memory now */
    uint64_t requests, refused;  /* see http_server_stats */
    sd_event_source *again;      /* NULL: the server ends */
};

/* A connection. All have the same limit, so the list is ordered by due time. */
struct peer {
    TAILQ_ENTRY(peer) link;
    struct http_server *server;
    struct exchange_host *host;
    struct http_exchange *exchange;
    uint64_t due_us;
    int fd;
    bool cut, answering;
    union address address;
};

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

/* libmicrohttpd's access handler and its completion callback. */
mhd_result exchange_on_request(void *cls, struct MHD_Connection *connection, const char *url,
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
static inline void exchange_run_again(struct exchange_host *host)
{
    if (host->again)
        (void)sd_event_source_set_enabled(host->again, SD_EVENT_ONESHOT);
}

#endif
