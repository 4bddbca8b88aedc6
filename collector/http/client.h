/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP requests on the caller's sd-event loop, with libcurl's multi interface. The client never
 * follows redirects and ignores the proxies of the environment. Nothing here blocks: libcurl
 * resolves names in threads of its own. The process must ignore SIGPIPE.
 */
#ifndef JOBIO_COLLECTOR_HTTP_CLIENT_H
#define JOBIO_COLLECTOR_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "collector/http/access.h"
#include "common/error.h"

struct http_client;

/* Strings are copied. */
struct http_client_options {
    struct http_access access;
    uint64_t connect_timeout_ns, timeout_ns;
};

struct http_request {
    const char *method; /* a literal: "PUT" */
    const char *url;
    void *body; /* malloc'd; the client takes ownership, also on failure; may be NULL */
    size_t size;
    const char *const *headers; /* NULL-terminated; may be NULL */
    size_t answer_max;          /* bytes of the answer's body to keep; 0: only `text`, and a body
                                 * of more than 1 MiB fails the request */
    uint64_t timeout_ns;        /* for this request; 0: the client's timeout */
    const char *mark;           /* prefix of a header that only the expected kind of server sends:
                                 * a literal, case-insensitive; may be NULL */
};

#define HTTP_TEXT_MAX 200

struct http_answer {
    long code;                    /* HTTP status; 0: no answer, `text` has the reason */
    bool misconfigured;           /* no answer, and a retry will not help: a bad certificate */
    bool too_long;                /* no answer, because it was longer than its limit */
    uint64_t retry_after_s;       /* 0: no Retry-After header */
    char text[HTTP_TEXT_MAX + 1]; /* the start of the answer's body; untrusted */
    const char *body; /* the complete body, NUL-terminated, valid until `done` returns; NULL: empty,
                       * or answer_max is 0. A body longer than answer_max fails the request. */
    size_t size;
    bool marked; /* a header started with `mark` */
};

/* Called from the loop, once for each request that was sent. It may send another request, but must
 * not destroy the client. */
typedef void (*http_done_f)(const struct http_answer *answer, void *arg);

/* Returns 0 or -errno. -ENOTSUP: this libcurl resolves names synchronously; other errors as of
 * http_read_userpwd(). *ret is untouched on failure. */
int http_client_create(struct http_client **ret, sd_event *loop,
                       const struct http_client_options *options, struct error *error);
/* Abort all transfers without calling their `done`. Accepts NULL. */
void http_client_destroy(struct http_client *client);

/* Start a request. Returns 0 or -ENOMEM; on failure `done` is not called. */
int http_client_send(struct http_client *client, const struct http_request *request,
                     http_done_f done, void *arg, struct error *error);

/* The reason why an unresponsive name server can block the caller with this libcurl; NULL: it
 * cannot.
 */
const char *http_client_weakness(void);

#endif
