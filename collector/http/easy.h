/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The libcurl options that all HTTP requests of jobio have in common. */
#ifndef JOBIO_COLLECTOR_HTTP_EASY_H
#define JOBIO_COLLECTOR_HTTP_EASY_H

#include <curl/curl.h>
#include <stdbool.h>

/* Strings are copied by libcurl; NULL as in struct http_access. */
struct http_setup {
    const char *ca_file, *cert_file, *key_file;
    const char *userpwd; /* "user:password" */
    const char *proxy;
    bool environment_proxy; /* use the proxy of the environment instead of `proxy` */
    bool compressed;        /* accept a compressed answer */
    long connect_timeout_ms, timeout_ms;
};

/* Set these options, and allow only http and https, no redirects and no signals. */
void http_easy_setup(CURL *easy, const struct http_setup *setup);

#endif
