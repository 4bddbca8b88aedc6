/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/url.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool is_scheme(const char *text, size_t size, const char *scheme)
{
    return size == strlen(scheme) && strncasecmp(text, scheme, size) == 0;
}

static bool is_host(const char *host, size_t size, const char *name)
{
    return size == strlen(name) && memcmp(host, name, size) == 0;
}

static bool is_loopback(const char *host, size_t size)
{
    return is_host(host, size, "localhost") || is_host(host, size, "[::1]") ||
           (size > 4 && memcmp(host, "127.", 4) == 0 && strspn(host, DIGITS ".") >= size);
}

/* Returns 0: there is no host, or it has other characters. */
static size_t host_size(const char *host)
{
    size_t size;

    if (*host != '[') {
        for (size = 0; host[size]; size++) /* a name in another alphabet is for libcurl */
            if (!strchr(LETTERS DIGITS ".-_~", host[size]) && !(host[size] & 0x80))
                break;
        return size;
    }
    size = 1 + strspn(host + 1, LETTERS DIGITS ":.%-_~");
    return size > 1 && host[size] == ']' ? size + 1 : 0;
}

/* `text` is at the end of the host. Returns false if there is something else than a port. */
static bool skip_port(const char **text)
{
    unsigned port = 0;

    if (**text == ':')
        while (*++*text >= '0' && **text <= '9' && port <= 65535)
            port = 10 * port + (unsigned)(**text - '0');
    return port <= 65535 && (!**text || strchr("/?#", **text));
}

int url_parse(const char *text, struct url *ret)
{
    const char *host = strstr(text, "://"), *end;
    size_t size;

    *ret = (struct url){0};
    if (!host)
        return -EINVAL;
    ret->encrypted = is_scheme(text, (size_t)(host - text), "https");
    ret->web = ret->encrypted || is_scheme(text, (size_t)(host - text), "http");
    host += 3;
    ret->has_user = memchr(host, '@', strcspn(host, "/?#"));
    for (end = text; *end; end++)
        if ((*end > 0 && *end <= ' ') || *end == 0x7f)
            return -EINVAL;
    if (ret->has_user) /* the host does not matter any more */
        return 0;
    size = host_size(host);
    end = host + size;
    if (!size || !skip_port(&end))
        return -EINVAL;
    ret->loopback = is_loopback(host, size);
    ret->path = (size_t)(end - text);
    ret->path_end = ret->path + strcspn(end, "?#");
    ret->has_query = text[ret->path_end];
    return 0;
}
