/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a URL that decide where a password goes. Stricter than libcurl, which has a function
 * for this only since 7.62: what it would have to decode or correct is refused. */
#ifndef JOBIO_COLLECTOR_HTTP_URL_H
#define JOBIO_COLLECTOR_HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>

struct url {
    bool web;        /* the scheme is http or https */
    bool encrypted;  /* https */
    bool has_user;   /* a user or a password */
    bool has_query;  /* a query or a fragment */
    bool loopback;   /* the host is localhost, 127.0.0.0/8 or [::1] */
    size_t path;     /* offset of the path, which may be empty */
    size_t path_end; /* offset of the query or fragment, or of the end */
};

/* Parse SCHEME://HOST[:PORT][/PATH][?QUERY][#FRAGMENT]. Returns 0 or -EINVAL. If it returns
 * -EINVAL, `has_user` is valid, so that a message can leave out the password; the rest is not. */
int url_parse(const char *text, struct url *ret);

#endif
