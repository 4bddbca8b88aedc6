/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libcurl options that all HTTP requests of jobio have in common. */
#ifndef JOBIO_COLLECTOR_HTTP_EASY_H
#define JOBIO_COLLECTOR_HTTP_EASY_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

/* Strings are copied by libcurl; NULL as in struct http_access. */
struct http_setup {
    const char *ca_file, *cert_file, *key_file;
    const char *userpwd; /* "user:password" */
    const char *proxy;
    bool environment_proxy; /* use the proxy of the environment instead of `proxy` */
    bool compressed;        /* accept a compressed answer */
    long connect_timeout_ms, timeout_ms;
};

/* The headers and trailers of an answer. libcurl has no limit for trailers, and before 8.3 none for
 * headers; it keeps them in memory. */
#define HTTP_HEADERS_MAX 65536
struct http_headers {
    const char *mark;       /* prefix of a header, case-insensitive; NULL: none */
    bool marked;            /* a header started with it */
    size_t size;            /* in bytes */
    uint64_t retry_after_s; /* 0: no Retry-After */
};

/* Make the handle of a transfer, which curl_easy_cleanup() frees. Returns 0 or -ENOMEM, or -ELIBACC
 * if libcurl cannot be loaded (on_demand.c). *ret is untouched on failure. */
int http_easy_create(CURL **ret, struct error *error);
/* Set these options, and allow only http and https, no redirects and no signals. A transfer with
 * more than HTTP_HEADERS_MAX bytes of headers fails. `headers` is all 0 but for `mark`, and lives
 * until the end of the transfer. */
void http_easy_setup(CURL *easy, const struct http_setup *setup, struct http_headers *headers);
/* Why the transfer has failed. `text`: CURLOPT_ERRORBUFFER, which may be empty. */
const char *http_easy_reason(const struct http_headers *headers, CURLcode code, const char *text);

#endif
