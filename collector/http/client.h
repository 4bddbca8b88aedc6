/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP requests on the caller's sd-event loop, by libcurl's multi interface. Redirects are never
 * followed, proxies of the environment are ignored. Nothing here blocks: names are resolved by
 * libcurl's own threads. The process must ignore SIGPIPE.
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
    void *body; /* malloc'd; the client takes it, also when it fails; may be NULL */
    size_t size;
    const char *const *headers; /* NULL-terminated; may be NULL */
    size_t answer_max;          /* keep the answer's body, of at most this; 0: its beginning only */
    uint64_t timeout_ns;        /* of this request; 0: the client's */
    const char *mark;           /* how a header begins that only the right kind of server sends, a
                                 * literal in any case; may be NULL */
};

#define HTTP_TEXT_MAX 200

struct http_answer {
    long code;                    /* 0: there was none, `text` says why */
    bool misconfigured;           /* no answer, and another try will not help: a bad certificate */
    bool too_long;                /* no answer, because it was longer than asked for */
    uint64_t retry_after_s;       /* 0: not said */
    char text[HTTP_TEXT_MAX + 1]; /* the beginning of the answer's body; untrusted */
    const char *body; /* all of it, with a NUL behind it, good until `done` returns; NULL: empty, or
                       * not asked for. One that is longer than asked for fails the request. */
    size_t size;
    bool marked; /* it had a header that begins with `mark` */
};

/* Called once for each request that was sent, from the loop. It may send again, not destroy. */
typedef void (*http_done_f)(const struct http_answer *answer, void *arg);

/* -ENOTSUP: this libcurl resolves names synchronously; errors of the file with the password. *ret
 * untouched on failure. */
int http_client_create(struct http_client **ret, sd_event *loop,
                       const struct http_client_options *options, struct error *error);
/* Ends all transfers, their `done` is not called. NULL is fine. */
void http_client_destroy(struct http_client *client);

/* Start a request. On failure `done` is not called. */
int http_client_send(struct http_client *client, const struct http_request *request,
                     http_done_f done, void *arg, struct error *error);

/* NULL, or why a name server that does not answer could hold up the caller with this libcurl. */
const char *http_client_weakness(void);

#endif
