/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numeric addresses of IP sockets. */
#ifndef JOBIO_COMMON_ADDRESS_H
#define JOBIO_COMMON_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "common/error.h"

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Parse ADDRESS:PORT or [ADDRESS]:PORT; *size is that of the address. 0 or -EINVAL with text. */
int address_parse(const char *text, union address *ret, socklen_t *size, struct error *error);

/* Copy the address of a peer. The address of an IPv4 peer at an IPv6 socket (::ffff:a.b.c.d)
 * becomes its IPv4 address. `from` is of AF_INET or AF_INET6. */
void address_of_peer(const struct sockaddr *from, union address *ret);

/* Only this host can reach it: 127.0.0.0/8 or ::1. */
bool address_is_loopback(const union address *address);

/* Two sockets cannot listen at both: the port is the same, and the address, or one of them is that
 * of all interfaces. IPv6 sockets of jobio do not accept IPv4. */
bool address_overlaps(const union address *a, const union address *b);

#endif
