/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request to the HTTP server (server.h), and its answer. */
#ifndef JOBIO_COLLECTOR_HTTP_EXCHANGE_H
#define JOBIO_COLLECTOR_HTTP_EXCHANGE_H

#include <stddef.h>

struct http_exchange;

/* A handler must answer its exchange exactly once, now or later, with one of the functions below,
 * which also free it. The body is valid until then. The handler must answer even if the peer or the
 * server is gone. After the time limit, the server responds 503 itself. */
typedef void (*http_handler_f)(struct http_exchange *exchange, const void *body, size_t size,
                               void *arg);

/* The peer's address as text, without the port. */
const char *http_exchange_peer(const struct http_exchange *exchange);

/* Takes ownership of the malloc'd body; NULL: no body. `content_type` is copied. */
void http_exchange_answer(struct http_exchange *exchange, unsigned code, const char *content_type,
                          void *body, size_t size);
/* Answer with one line of plain text. */
void http_exchange_text(struct http_exchange *exchange, unsigned code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
