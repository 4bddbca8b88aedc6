/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One message of the local protocol (doc/protocol.md): a SOCK_SEQPACKET datagram of NUL-terminated
 * KEY=VALUE strings, VERSION first, at most 64 KiB. Needs nothing but libc and allocates nothing:
 * slurmstepd uses it.
 */
#ifndef JOBIO_COMMON_MESSAGE_H
#define JOBIO_COMMON_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "common/error.h"

#define MESSAGE_VERSION 1
#define MESSAGE_MAX 65536

struct message {
    size_t size;
    char data[MESSAGE_MAX];
};

/* Start a message: VERSION=1 and TYPE=type. */
void message_init(struct message *m, const char *type);

/* Append KEY=VALUE. Values may hold anything but NUL; a NULL value is skipped. Once a field does
 * not fit, -EMSGSIZE, and the message stays as it was. */
int message_put(struct message *m, const char *key, const char *value);
int message_put_u64(struct message *m, const char *key, uint64_t value);

/* The first "KEY=VALUE" (field NULL) or the one after `field`; NULL behind the last. */
const char *message_next(const struct message *m, const char *field);

/* The value of the first field `key`, NULL if there is none. Points into m. */
const char *message_get(const struct message *m, const char *key);
/* The value as a decimal number; `fallback` if there is none. -EINVAL (with text) if it is no
 * number or above `max`. */
int message_get_u64(const struct message *m, const char *key, uint64_t max, uint64_t fallback,
                    uint64_t *ret, struct error *error);

/* Check what came from a socket: m->size bytes in m->data, or more than MESSAGE_MAX if the datagram
 * was longer (recv with MSG_TRUNC). -EBADMSG: empty, too long, not NUL-terminated, a field without
 * '=' or with an empty key, VERSION not first or no number; -EPROTONOSUPPORT: a version that we do
 * not speak. Nothing else may be asked of a message that failed. */
int message_check(const struct message *m, struct error *error);

#endif
