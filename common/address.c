/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, union address *ret, socklen_t *size)
{
    char host[INET6_ADDRSTRLEN + 2];
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    unsigned long port = digits > 0 && digits <= 5 ? strtoul(colon + 1, NULL, 10) : ULONG_MAX;

    memset(ret, 0, sizeof(*ret));
    if (n >= sizeof(host) || port > UINT16_MAX || colon[1 + digits])
        return -EINVAL;
    memcpy(host, text, n);
    host[n] = '\0';
    if (*host == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        ret->v6.sin6_family = AF_INET6;
        ret->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof(ret->v6);
        return inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1 ? 0 : -EINVAL;
    }
    ret->v4.sin_family = AF_INET;
    ret->v4.sin_port = htons((uint16_t)port);
    *size = sizeof(ret->v4);
    return inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1 ? 0 : -EINVAL;
}

int address_parse(const char *text, union address *ret, socklen_t *size, struct error *error)
{
    if (parse(text, ret, size) < 0)
        return error_set(error, -EINVAL, "\"%s\" is not ADDRESS:PORT or [ADDRESS]:PORT", text);
    return 0;
}
