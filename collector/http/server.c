/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "collector/http/server.h"
#include "collector/http/exchange_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

#define BACKLOG 1024
#define CONNECTION_MEMORY 16384
#define SUBNET_BYTES 8 /* of a /64 */

TAILQ_HEAD(peers, peer);

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
    sd_event_source *timer, *retry;
    struct error why; /* of the last failed bind; "": all are bound */
    struct http_server_options options;
    struct exchange_host host;
    struct peers peers;
    struct http_server_stats stats; /* but for those that `host` counts */
    size_t n_listeners;
    struct listener listeners[];
};

static uint64_t now_us(void)
{
    return clock_ns(CLOCK_MONOTONIC) / 1000;
}

/* --- connections ------------------------------------------------------------------------------ */

/* Every user of this host can connect from all addresses of 127.0.0.0/8: they count as one. */
static in_addr_t host_of(const struct sockaddr_in *address)
{
    in_addr_t host = ntohl(address->sin_addr.s_addr);

    return host >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET ? INADDR_LOOPBACK : host;
}

static bool same_host(const union address *a, const union address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (b->any.sa_family == AF_INET6)
        return IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr);
    return host_of(&a->v4) == host_of(&b->v4);
}

/* One host can have all addresses of a /64. */
static bool same_subnet(const union address *a, const union address *b)
{
    return a->any.sa_family == AF_INET6 && b->any.sa_family == AF_INET6 &&
           memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, SUBNET_BYTES) == 0;
}

/* The nodes of a cluster often share the /64 of this one, so that it has no limit of its own. */
static bool crowded_subnet(const struct http_server *server, const struct peer *new)
{
    union address local = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof(local);
    const struct peer *peer;
    unsigned n = 0;

    if (new->address.any.sa_family != AF_INET6 || getsockname(new->fd, &local.any, &size) < 0 ||
        same_subnet(&new->address, &local))
        return false;
    TAILQ_FOREACH (peer, &server->peers, link)
        n += same_subnet(&peer->address, &new->address);
    return n > server->options.connections_a_subnet;
}

/* libmicrohttpd owns the descriptor. It detects the end of the stream and closes it. */
static void cut(struct peer *peer)
{
    peer->cut = true;
    (void)shutdown(peer->fd, SHUT_RDWR);
}

/* Of a host with too many connections the oldest one ends that waits for the host: one that holds
 * connections does not keep others on it, such as another user, from being served. */
static mhd_result may_connect(void *cls, const struct sockaddr *address, socklen_t size)
{
    struct http_server *server = cls;
    struct peer *peer, *oldest = NULL;
    union address new;
    unsigned n = 0;

    (void)size;
    address_of_peer(address, &new);
    TAILQ_FOREACH (peer, &server->peers, link) {
        if (peer->cut || !same_host(&peer->address, &new))
            continue;
        n++;
        if (!oldest && !(peer->exchange && peer->exchange->held))
            oldest = peer;
    }
    if (n < server->options.connections_an_address)
        return MHD_YES;
    server->stats.crowded++;
    if (!oldest)
        return MHD_NO;
    cut(oldest);
    return MHD_YES;
}

static void arm(struct http_server *server)
{
    const struct peer *first = TAILQ_FIRST(&server->peers);

    if (first)
        (void)sd_event_source_set_time(server->timer, first->due_us);
    (void)sd_event_source_set_enabled(server->timer, first ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static void peer_connected(struct http_server *server, struct MHD_Connection *connection,
                           void **context)
{
    struct peer *peer = calloc(1, sizeof(*peer));
    const union MHD_ConnectionInfo *info;

    *context = peer;
    if (!peer) /* the request will be refused */
        return;
    peer->server = server;
    peer->host = &server->host;
    peer->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    address_of_peer(info->client_addr, &peer->address);
    peer->due_us = now_us() + server->options.limit_ns / 1000;
    TAILQ_INSERT_TAIL(&server->peers, peer, link);
    server->stats.connections++;
    if (crowded_subnet(server, peer)) {
        server->stats.crowded++;
        cut(peer);
    }
    arm(server);
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
                          enum MHD_ConnectionNotificationCode code)
{
    struct http_server *server = cls;
    struct peer *peer = *context;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        peer_connected(server, connection, context);
    } else if (peer) {
        TAILQ_REMOVE(&server->peers, peer, link);
        server->stats.connections--;
        free(peer);
        *context = NULL;
        /* libmicrohttpd accepts again only in the run after the one that closed a connection. */
        exchange_run_again(&server->host);
    }
}

/* The time limit has passed. If a handler is still running, respond 503, and give the peer the same
 * time again to read it. */
static void expire(struct http_server *server, struct peer *peer)
{
    static const char late[] = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n"
                               "Content-Length: 0\r\n\r\n";

    TAILQ_REMOVE(&server->peers, peer, link);
    peer->due_us = now_us() + server->options.limit_ns / 1000;
    TAILQ_INSERT_TAIL(&server->peers, peer, link);
    if (peer->exchange && exchange_expire(peer->exchange))
        return;
    server->stats.timeouts += !peer->cut;
    if (!peer->answering && !peer->cut)
        (void)send(peer->fd, late, sizeof(late) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    cut(peer);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *arg)
{
    struct http_server *server = arg;
    struct peer *first;

    (void)source, (void)usec;
    while ((first = TAILQ_FIRST(&server->peers)) && first->due_us <= now_us())
        expire(server, first);
    arm(server);
    return 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void run(struct http_server *server, struct listener *listener)
{
    MHD_UNSIGNED_LONG_LONG ms;

    if (!listener->daemon)
        return;
    (void)MHD_run(listener->daemon);
    if (MHD_get_timeout(listener->daemon, &ms) == MHD_YES && ms == 0)
        exchange_run_again(&server->host);
}

static int on_again(sd_event_source *source, void *arg)
{
    struct http_server *server = arg;

    (void)source;
    for (size_t i = 0; i < server->n_listeners; i++)
        run(server, &server->listeners[i]);
    return 0;
}

static int on_events(sd_event_source *source, int fd, uint32_t revents, void *arg)
{
    struct http_server *server = arg;

    (void)fd, (void)revents;
    for (size_t i = 0; i < server->n_listeners; i++)
        if (server->listeners[i].io == source)
            run(server, &server->listeners[i]);
    return 0;
}

/* --- creation --------------------------------------------------------------------------------- */

static int bound_socket(const union address *address, socklen_t size, int *ret)
{
    _close_ int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
        return -errno;
    if (address->any.sa_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
        return -errno;
    if (bind(fd, &address->any, size) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    *ret = TAKE_FD(fd);
    return 0;
}

static unsigned port_of(int fd)
{
    union address address;
    socklen_t size = sizeof(address);

    if (getsockname(fd, &address.any, &size) < 0)
        return 0;
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static int start_daemon(struct http_server *server, struct listener *listener, int fd, int family)
{
    unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME;

    if (family == AF_INET6)
        flags |= MHD_USE_IPv6;
    listener->port = port_of(fd);
    listener->daemon = MHD_start_daemon(
        flags, 0, may_connect, server, exchange_on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_CONNECTION_LIMIT, server->options.connections,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, server, MHD_OPTION_NOTIFY_COMPLETED, exchange_on_completed, server,
        MHD_OPTION_END);
    return listener->daemon ? 0 : -EIO;
}

static void listener_close(struct listener *listener)
{
    listener->io = sd_event_source_disable_unref(listener->io);
    if (listener->daemon)
        MHD_stop_daemon(listener->daemon);
    listener->daemon = NULL;
}

/* Takes over the socket, also on failure. */
static int listener_serve(struct http_server *server, struct listener *listener, int fd,
                          struct error *error)
{
    int epoll_fd, r = start_daemon(server, listener, fd, listener->address.any.sa_family);

    if (r < 0) /* libmicrohttpd may have closed the socket already: do not close it here */
        return error_errno(error, r, "cannot serve at %s", listener->text);
    epoll_fd = MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD)->listen_fd;
    r = sd_event_add_io(server->loop, &listener->io, epoll_fd, EPOLLIN, on_events, server);
    if (r >= 0)
        return 0;
    listener_close(listener);
    return error_errno(error, r, "cannot serve at %s", listener->text);
}

static int listener_bind(struct http_server *server, struct listener *listener, struct error *error)
{
    int fd = -1, r = bound_socket(&listener->address, listener->size, &fd);

    if (r < 0)
        return error_errno(error, r, "cannot listen at %s", listener->text);
    return listener_serve(server, listener, fd, error);
}

static int listener_take(struct http_server *server, struct listener *listener, int fd,
                         struct error *error)
{
    int flags = fcntl(fd, F_GETFL);

    (void)snprintf(listener->text, sizeof(listener->text), "socket %d", fd);
    listener->size = sizeof(listener->address);
    if (getsockname(fd, &listener->address.any, &listener->size) < 0 || flags < 0 ||
        fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return error_errno(error, -errno, "cannot use %s", listener->text);
    return listener_serve(server, listener, fd, error);
}

/* Try those that are not bound, and report a change. Returns 0, or the error of the last one. */
static int bind_all(struct http_server *server, struct error *error)
{
    int failure = 0, r;

    for (size_t i = 0; i < server->n_listeners; i++) {
        r = server->listeners[i].daemon ? 0 : listener_bind(server, &server->listeners[i], error);
        failure = r < 0 ? r : failure;
    }
    if (!server->options.retry_ns)
        return failure;
    if (failure < 0 ? strcmp(server->why.text, error->text) != 0 : *server->why.text != '\0') {
        server->why = failure < 0 ? *error : (struct error){""};
        if (server->options.listening)
            server->options.listening(failure < 0 ? &server->why : NULL,
                                      server->options.listening_arg);
    }
    return failure;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *arg)
{
    struct http_server *server = arg;
    struct error error;

    (void)usec;
    if (bind_all(server, &error) < 0) {
        (void)sd_event_source_set_time_relative(source, server->options.retry_ns / 1000);
        (void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
    }
    return 0;
}

static void fill_options(struct http_server_options *o, const struct http_server_options *from)
{
    *o = *from;
    o->listen = NULL;
    o->userpwd = NULL;
    o->sockets = NULL;
    o->limit_ns = from->limit_ns ? from->limit_ns : 10 * NS_PER_S;
    o->body_max = from->body_max ? from->body_max : 2u << 20;
    o->bodies_max = from->bodies_max ? from->bodies_max : 64u << 20;
    o->connections = from->connections ? from->connections : 256;
    o->connections_an_address = from->connections_an_address ? from->connections_an_address : 32;
    o->connections_a_subnet =
        from->connections_a_subnet ? from->connections_a_subnet : 4 * o->connections_an_address;
}

static int listen_all(struct http_server *server, const struct http_server_options *options,
                      struct error *error)
{
    int r = 0;

    for (size_t i = 0; i < options->n_sockets && r == 0; i++)
        r = listener_take(server, &server->listeners[server->n_listeners++], options->sockets[i],
                          error);
    for (size_t i = 0; i < options->n_listen && !options->n_sockets && r == 0; i++) {
        struct listener *listener = &server->listeners[server->n_listeners++];

        (void)snprintf(listener->text, sizeof(listener->text), "%s", options->listen[i]);
        r = address_parse(options->listen[i], &listener->address, &listener->size, error);
    }
    if (r == 0)
        r = bind_all(server, error);
    if (r == 0 || !server->options.retry_ns || !*server->why.text)
        return r;
    r = sd_event_add_time_relative(server->loop, &server->retry, CLOCK_MONOTONIC,
                                   server->options.retry_ns / 1000, 0, on_retry, server);
    return r < 0 ? error_errno(error, r, "HTTP server") : 0;
}

static int server_init(struct http_server *server, sd_event *loop,
                       const struct http_server_options *options, struct error *error)
{
    int r;

    TAILQ_INIT(&server->peers);
    server->loop = sd_event_ref(loop);
    fill_options(&server->options, options);
    server->host.body_max = server->options.body_max;
    server->host.bodies_max = server->options.bodies_max;
    server->host.userpwd = options->userpwd ? strdup(options->userpwd) : NULL;
    if (options->userpwd && !server->host.userpwd)
        return error_errno(error, -ENOMEM, "HTTP server");
    r = sd_event_add_time(loop, &server->timer, CLOCK_MONOTONIC, 0, 1000, on_timer, server);
    if (r >= 0)
        r = sd_event_source_set_enabled(server->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_defer(loop, &server->host.again, on_again, server);
    if (r < 0)
        return error_errno(error, r, "HTTP server");
    return listen_all(server, options, error);
}

int http_server_create(struct http_server **ret, sd_event *loop,
                       const struct http_server_options *options, struct error *error)
{
    struct http_server *server = calloc(
        1, sizeof(*server) + (options->n_sockets + options->n_listen) * sizeof(*server->listeners));
    int r = server ? server_init(server, loop, options, error)
                   : error_errno(error, -ENOMEM, "HTTP server");

    if (r < 0) {
        http_server_destroy(server);
        return r;
    }
    *ret = server;
    return 0;
}

void http_server_destroy(struct http_server *server)
{
    struct peer *peer;

    if (!server)
        return;
    server->host.again = sd_event_source_disable_unref(server->host.again);
    /* MHD_stop_daemon() aborts the process if a connection is suspended. */
    TAILQ_FOREACH (peer, &server->peers, link)
        if (peer->exchange)
            exchange_wake(peer->exchange);
    for (size_t i = 0; i < server->n_listeners; i++)
        listener_close(&server->listeners[i]);
    sd_event_source_disable_unref(server->retry);
    sd_event_source_disable_unref(server->timer);
    sd_event_unref(server->loop);
    if (server->host.userpwd)
        explicit_bzero(server->host.userpwd, strlen(server->host.userpwd));
    free(server->host.userpwd);
    free(server->host.routes);
    free(server);
}

int http_server_route(struct http_server *server, const char *method, const char *path,
                      http_handler_f handler, void *arg)
{
    struct route *grown =
        realloc(server->host.routes, (server->host.n_routes + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    server->host.routes = grown;
    grown[server->host.n_routes++] = (struct route){method, path, handler, arg};
    return 0;
}

void http_server_stats(const struct http_server *server, struct http_server_stats *ret)
{
    *ret = server->stats;
    ret->bodies = server->host.bodies;
    ret->requests = server->host.requests;
    ret->refused = server->host.refused;
}

unsigned http_server_port(const struct http_server *server, size_t n)
{
    return server->listeners[n].port;
}
