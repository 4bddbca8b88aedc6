/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "collector/http/exchange_impl.h"
#include "common/cleanup.h"

#define BODY_FIRST 4096
/* Bytes to read of a body that is too long, so that its sender reads the refusal. */
#define DRAIN_MAX (4u << 20)

/* --- exchanges -------------------------------------------------------------------------------- */

static void drop_body(struct http_exchange *exchange)
{
    if (exchange->peer)
        exchange->peer->host->bodies -= exchange->room;
    free(exchange->body);
    exchange->body = NULL;
    exchange->size = exchange->room = 0;
}

static void exchange_free(struct http_exchange *exchange)
{
    drop_body(exchange);
    if (exchange->response)
        MHD_destroy_response(exchange->response);
    free(exchange);
}

/* Called when the connection is closed. The body no longer counts for the limit of the server, but
 * the handler may still read it. */
static void exchange_detach(struct http_exchange *exchange)
{
    exchange->peer->host->bodies -= exchange->room;
    exchange->peer->exchange = NULL;
    exchange->peer = NULL;
    if (!exchange->held)
        exchange_free(exchange);
}

static void format_address(const union address *address, char text[INET6_ADDRSTRLEN])
{
    const void *raw = address->any.sa_family == AF_INET6 ? (const void *)&address->v6.sin6_addr
                                                         : (const void *)&address->v4.sin_addr;

    if (!inet_ntop(address->any.sa_family, raw, text, INET6_ADDRSTRLEN))
        *text = '\0';
}

static struct http_exchange *exchange_create(struct peer *peer, struct MHD_Connection *connection)
{
    struct http_exchange *exchange = calloc(1, sizeof(*exchange));

    if (!exchange)
        return NULL;
    exchange->peer = peer;
    exchange->connection = connection;
    format_address(&peer->address, exchange->address);
    peer->exchange = exchange;
    return exchange;
}

static void respond(struct http_exchange *exchange, unsigned code, const char *content_type,
                    void *body, size_t size)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(body ? size : 0, body, MHD_RESPMEM_MUST_FREE);

    exchange->code = code;
    exchange->response = response;
    if (!response) {
        free(body);
        return;
    }
    (void)MHD_add_response_header(response, "Connection", "close");
    if (content_type)
        (void)MHD_add_response_header(response, "Content-Type", content_type);
}

static void respond_text(struct http_exchange *exchange, unsigned code, const char *text)
{
    char *line = NULL;
    int n = asprintf(&line, "%s\n", text);

    respond(exchange, code, "text/plain; charset=utf-8", n < 0 ? NULL : line,
            n < 0 ? 0 : (size_t)n);
}

void exchange_wake(struct http_exchange *exchange)
{
    if (!exchange->suspended)
        return;
    exchange->suspended = false;
    MHD_resume_connection(exchange->connection);
    exchange_run_again(exchange->peer->host);
}

void http_exchange_answer(struct http_exchange *exchange, unsigned code, const char *content_type,
                          void *body, size_t size)
{
    exchange->held = false;
    if (!exchange->peer) {
        free(body);
        exchange_free(exchange);
        return;
    }
    drop_body(exchange);
    if (exchange->response) { /* too late: exchange_expire() has responded */
        free(body);
        return;
    }
    respond(exchange, code, content_type, body, size);
    exchange_wake(exchange);
}

void http_exchange_text(struct http_exchange *exchange, unsigned code, const char *format, ...)
{
    _free_ char *text = NULL;
    char *line = NULL;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    n = n < 0 ? n : asprintf(&line, "%s\n", text);
    http_exchange_answer(exchange, code, "text/plain; charset=utf-8", n < 0 ? NULL : line,
                         n < 0 ? 0 : (size_t)n);
}

const char *http_exchange_peer(const struct http_exchange *exchange)
{
    return exchange->address;
}

bool exchange_expire(struct http_exchange *exchange)
{
    if (!exchange->suspended)
        return false;
    exchange->peer->host->refused++;
    respond_text(exchange, 503, "no answer in time");
    exchange_wake(exchange);
    return true;
}

/* --- requests --------------------------------------------------------------------------------- */

static void refuse(struct http_exchange *exchange, unsigned code, const char *why)
{
    if (exchange->why)
        return;
    exchange->peer->host->refused++;
    exchange->code = code;
    exchange->why = why;
    drop_body(exchange);
}

/* The time that this takes does not depend on where the texts differ. */
static bool same_text(const char *given, const char *wanted)
{
    size_t n = strlen(given), m = strlen(wanted);
    unsigned differs = n != m;

    for (size_t i = 0; i < m; i++)
        differs |= (unsigned char)(given[i % (n + 1)] ^ wanted[i]);
    return !differs;
}

static bool has_password(const struct http_exchange *exchange, const char *wanted)
{
    char *password = NULL, *given = NULL;
    char *user = MHD_basic_auth_get_username_password(exchange->connection, &password);
    bool same = false;

    if (user && password && asprintf(&given, "%s:%s", user, password) >= 0) {
        same = same_text(given, wanted);
        free(given);
    }
    MHD_free(user);
    MHD_free(password);
    return same;
}

static const struct route *find_route(const struct exchange_host *host, const char *method,
                                      const char *path, bool *other_method)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;

    *other_method = false;
    for (size_t i = 0; i < host->n_routes; i++) {
        const struct route *route = &host->routes[i];

        if (strcmp(route->path, path) != 0)
            continue;
        if (strcmp(route->method, wanted) == 0)
            return route;
        *other_method = true;
    }
    return NULL;
}

/* Grow the buffer with the bytes received, not with the announced Content-Length. */
static void take_body(struct http_exchange *exchange, const char *data, size_t size)
{
    struct exchange_host *host = exchange->peer->host;
    size_t room = exchange->room ? exchange->room : BODY_FIRST;
    char *grown;

    if (exchange->size + size > host->body_max)
        refuse(exchange, 413, "the body is too long");
    if (exchange->why) {
        exchange->excess += size;
        return;
    }
    while (room < exchange->size + size)
        room *= 2;
    if (host->bodies + room - exchange->room > host->bodies_max) {
        refuse(exchange, 503, "too many requests at once");
        return;
    }
    grown = room > exchange->room ? realloc(exchange->body, room) : exchange->body;
    if (!grown) {
        refuse(exchange, 503, "no memory");
        return;
    }
    host->bodies += room - exchange->room;
    exchange->body = grown;
    exchange->room = room;
    memcpy(exchange->body + exchange->size, data, size);
    exchange->size += size;
}

static mhd_result queue(struct http_exchange *exchange)
{
    if (!exchange->response)
        return MHD_NO;
    exchange->peer->answering = true;
    return MHD_queue_response(exchange->connection, exchange->code, exchange->response);
}

/* Called when the request is complete. */
static void handle(struct http_exchange *exchange, const char *method, const char *path)
{
    struct exchange_host *host = exchange->peer->host;
    bool other_method;
    const struct route *route = find_route(host, method, path, &other_method);

    if (host->userpwd && !has_password(exchange, host->userpwd))
        refuse(exchange, 401, "a user and a password are required");
    else if (!route && other_method)
        refuse(exchange, 405, "not with this method");
    else if (!route)
        refuse(exchange, 404, "there is no such page");
    exchange->handled = true;
    if (exchange->why) {
        respond_text(exchange, exchange->code, exchange->why);
        if (exchange->code == 401 && exchange->response)
            (void)MHD_add_response_header(exchange->response, "WWW-Authenticate",
                                          "Basic realm=\"jobio\"");
        return;
    }
    host->requests++;
    exchange->held = true;
    route->handler(exchange, exchange->body ? exchange->body : "", exchange->size, route->arg);
}

mhd_result exchange_on_request(void *cls, struct MHD_Connection *connection, const char *url,
                               const char *method, const char *version, const char *data,
                               size_t *size, void **context)
{
    struct http_exchange *exchange = *context;
    struct peer *peer =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

    (void)cls, (void)version;
    if (!exchange) {
        *context = peer ? exchange_create(peer, connection) : NULL;
        return *context ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        take_body(exchange, data, *size);
        *size = 0;
        return exchange->excess > DRAIN_MAX ? MHD_NO : MHD_YES;
    }
    if (!exchange->handled)
        handle(exchange, method, url);
    if (exchange->response || !exchange->held)
        return queue(exchange);
    exchange->suspended = true;
    MHD_suspend_connection(connection);
    return MHD_YES;
}

void exchange_on_completed(void *cls, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code)
{
    struct http_exchange *exchange = *context;

    (void)cls, (void)connection, (void)code;
    *context = NULL;
    if (exchange)
        exchange_detach(exchange);
}
