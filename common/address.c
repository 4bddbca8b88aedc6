/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "common/numbers.h"

#define PORT_DIGITS 5

static int parse(const char *text, union address *ret, socklen_t *size)
{
    char host[INET6_ADDRSTRLEN + 2];
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    uint64_t port;

    memset(ret, 0, sizeof(*ret));
    if (!colon || n >= sizeof(host) || strlen(colon + 1) > PORT_DIGITS ||
        number_parse(colon + 1, 0, UINT16_MAX, &port) < 0)
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

void address_of_peer(const struct sockaddr *from, union address *ret)
{
    const union address *given = (const union address *)(const void *)from;

    memset(ret, 0, sizeof(*ret));
    if (from->sa_family == AF_INET) {
        ret->v4 = given->v4;
    } else if (!IN6_IS_ADDR_V4MAPPED(&given->v6.sin6_addr)) {
        ret->v6 = given->v6;
    } else {
        ret->v4.sin_family = AF_INET;
        ret->v4.sin_port = given->v6.sin6_port;
        memcpy(&ret->v4.sin_addr, &given->v6.sin6_addr.s6_addr[12], sizeof(ret->v4.sin_addr));
    }
}

bool address_is_loopback(const union address *address)
{
    if (address->any.sa_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
    return ntohl(address->v4.sin_addr.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET;
}

bool address_overlaps(const union address *a, const union address *b)
{
    if (a->any.sa_family != b->any.sa_family)
        return false;
    if (a->any.sa_family == AF_INET6)
        return a->v6.sin6_port && a->v6.sin6_port == b->v6.sin6_port &&
               (IN6_ARE_ADDR_EQUAL(&a->v6.sin6_addr, &b->v6.sin6_addr) ||
                IN6_IS_ADDR_UNSPECIFIED(&a->v6.sin6_addr) ||
                IN6_IS_ADDR_UNSPECIFIED(&b->v6.sin6_addr));
    return a->v4.sin_port && a->v4.sin_port == b->v4.sin_port &&
           (a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr || a->v4.sin_addr.s_addr == INADDR_ANY ||
            b->v4.sin_addr.s_addr == INADDR_ANY);
}
