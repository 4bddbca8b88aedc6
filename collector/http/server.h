/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP server on the caller's sd-event loop, with libmicrohttpd. It serves one request per
 * connection and never blocks. A time limit for the whole connection cuts off a peer that is slow,
 * silent or sends garbage. The number of connections, each body and the sum of all bodies are
 * bounded.
 */
#ifndef JOBIO_COLLECTOR_HTTP_SERVER_H
#define JOBIO_COLLECTOR_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "collector/http/exchange.h"
#include "common/error.h"

struct http_server;

/* `why`: an address at which the server does not listen, for each failed attempt whose cause is
 * new; NULL: it listens at all of them now. */
typedef void (*http_listening_f)(const struct error *why, void *arg);

/* A value of 0 selects the default, which is last in each comment. */
struct http_server_options {
    const char *const *listen; /* "127.0.0.1:9417", "[::1]:9417"; no host names */
    size_t n_listen;
    const int *sockets; /* that listen already; taken over, and used instead of `listen` */
    size_t n_sockets;
    uint64_t retry_ns; /* retry a failed bind after this time; 0: http_server_create() fails */
    http_listening_f listening; /* may be NULL; called only if retry_ns is not 0 */
    void *listening_arg;
    uint64_t limit_ns;    /* for a whole connection; 10 s */
    size_t body_max;      /* bytes; 2 MiB */
    size_t bodies_max;    /* bytes, sum of all bodies in memory; 64 MiB */
    unsigned connections; /* concurrent; more wait in the backlog; 256 */
    /* Concurrent; 32. Beyond it, the oldest that does not wait for a handler is closed, and if all
     * do, the new one. 127.0.0.0/8 is one address. */
    unsigned connections_an_address;
    /* Of an IPv6 /64, except that of the server's own address; more are closed; 4 *
     * connections_an_address. */
    unsigned connections_a_subnet;
    const char *userpwd; /* "user:password" that each request needs (basic); copied; NULL: none */
};

/* Bind and listen; requests are answered as soon as the loop runs. Returns 0 or -errno. -EINVAL: a
 * bad address; without retry_ns -EADDRINUSE, -EACCES...: from bind(). *ret is untouched on failure.
 */
int http_server_create(struct http_server **ret, sd_event *loop,
                       const struct http_server_options *options, struct error *error);
/* Close all connections. Exchanges without an answer stay valid until they are answered. Accepts
 * NULL.
 */
void http_server_destroy(struct http_server *server);

/* Add a route. `method` and `path` are literals. A GET route also serves HEAD. Other paths get 404,
 * other methods 405. Returns 0 or -ENOMEM. */
int http_server_route(struct http_server *server, const char *method, const char *path,
                      http_handler_f handler, void *arg);

struct http_server_stats {
    size_t connections, bodies; /* current number; current bytes */
    uint64_t requests;          /* passed to a handler */
    uint64_t refused;           /* 401, 404, 405, 413 and 503 sent without a handler's answer */
    uint64_t timeouts;          /* connections cut off at the limit */
    uint64_t crowded;           /* connections closed because their address or /64 had too many */
};
void http_server_stats(const struct http_server *server, struct http_server_stats *ret);

/* The port that the n-th address is bound to, also if `listen` has port 0; 0: it is not bound. */
unsigned http_server_port(const struct http_server *server, size_t n);

#endif
