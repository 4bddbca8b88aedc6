/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How this program identifies itself to an HTTP server, and which server it trusts. */
#ifndef JOBIO_COLLECTOR_HTTP_ACCESS_H
#define JOBIO_COLLECTOR_HTTP_ACCESS_H

#include <stdbool.h>

#include "common/error.h"

/* Strings are borrowed; each may be NULL. */
struct http_access {
    const char *ca_file;              /* PEM; NULL: the CAs of the system */
    const char *cert_file, *key_file; /* PEM; NULL: no client certificate */
    const char *userpwd_file;         /* one line "user:password"; NULL: no password */
    const char *proxy;                /* NULL: no proxy, even if the environment has one */
    bool insecure; /* accept a password that others can read, in its file or on the network */
};

/* Check that the PEM files are readable. Returns 0 or -errno. */
int http_access_check(const struct http_access *access, struct error *error);

/* Read a file with one line "user:password". *ret is malloc'd; it is untouched on failure and if
 * the path is NULL, which is not an error. Returns 0 or -errno; -EINVAL: no line with a colon. With
 * `check_mode` also -EINVAL: neither a file nor a pipe, or other users can read it. */
int http_read_userpwd(const char *path, bool check_mode, char **ret, struct error *error);

/* Returns 0 or -EINVAL: the URL is not http(s)://host..., or it has a user, a password, a
 * query or a fragment. */
int http_check_url(const char *url, struct error *error);

/* Returns 0 or -EINVAL: the password would be sent unencrypted to another host. `url` has
 * passed http_check_url(). */
int http_check_password(const struct http_access *access, const char *url, struct error *error);

#endif
