/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP server on the caller's sd-event loop, by libmicrohttpd. It serves one request a
 * connection and blocks nobody: a peer that is slow, silent or sends nonsense is cut off by one
 * limit for the whole connection, and connections, bodies and their sum are bounded.
 */
#ifndef JOBIO_COLLECTOR_HTTP_SERVER_H
#define JOBIO_COLLECTOR_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "common/error.h"

struct http_exchange;
struct http_server;

/* 0 is a default, too. */
struct http_server_options {
    const char *const *listen; /* "127.0.0.1:9417", "[::1]:9417"; addresses, no names */
    size_t n_listen;
    uint64_t limit_ns;               /* for a whole connection; 10 s */
    size_t body_max;                 /* bytes; 2 MiB */
    size_t bodies_max;               /* bytes of all bodies that are held at once; 64 MiB */
    unsigned connections;            /* at once, then they wait in the backlog; 256 */
    unsigned connections_an_address; /* at once, then they are closed; 32 */
};

/* Bind and listen; a request is answered as soon as the loop runs. -EINVAL as above;
 * -EADDRINUSE, -EACCES... of bind. *ret untouched on failure. */
int http_server_create(struct http_server **ret, sd_event *loop,
                       const struct http_server_options *options, struct error *error);
/* Closes all connections; exchanges that are still to be answered stay good for that. NULL is fine.
 */
void http_server_destroy(struct http_server *server);

/* Answer the exchange once, now or later, with one of the functions below, which also end it. The
 * body is good until then. An exchange whose peer or server has gone takes its answer all the same;
 * one that takes longer than the limit is answered 503 without the handler. */
typedef void (*http_handler_f)(struct http_exchange *exchange, const void *body, size_t size,
                               void *arg);

/* `method` and `path` are literals. GET answers HEAD as well. Other paths get 404, other methods
 * 405. -ENOMEM. */
int http_server_route(struct http_server *server, const char *method, const char *path,
                      http_handler_f handler, void *arg);

/* The peer's address as text, without the port. */
const char *http_exchange_peer(const struct http_exchange *exchange);

/* Takes the malloc'd body over; NULL: none. `content_type` is copied. */
void http_exchange_answer(struct http_exchange *exchange, unsigned code, const char *content_type,
                          void *body, size_t size);
/* One line of plain text. */
void http_exchange_text(struct http_exchange *exchange, unsigned code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct http_server_stats {
    size_t connections, bodies; /* now; bytes */
    uint64_t requests;          /* handed to a handler */
    uint64_t refused;           /* 4xx and 503 that no handler gave */
    uint64_t timeouts;          /* connections cut off at the limit */
    uint64_t crowded;           /* connections closed, because their address had too many */
};
void http_server_stats(const struct http_server *server, struct http_server_stats *ret);

/* The port of the n-th address, where `listen` said 0. */
unsigned http_server_port(const struct http_server *server, size_t n);

#endif
