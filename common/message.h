/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One message of the local protocol (doc/protocol.md): a SOCK_SEQPACKET datagram of NUL-terminated
 * KEY=VALUE strings, VERSION first, at most 64 KiB. Uses only libc and does not allocate:
 * the plugin runs it in slurmstepd.
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

/* Append KEY=VALUE. Values may contain anything but NUL; a NULL value is skipped. -EMSGSIZE if the
 * field does not fit: the message is unchanged. */
int message_put(struct message *m, const char *key, const char *value);
int message_put_u64(struct message *m, const char *key, uint64_t value);

/* Returns the first "KEY=VALUE" (field NULL) or the one after `field`; NULL after the last. */
const char *message_next(const struct message *m, const char *field);

/* Returns the value of the first field `key`, a pointer into m; NULL if there is none. */
const char *message_get(const struct message *m, const char *key);
/* The value as a decimal number; `fallback` if there is no such field. -EINVAL (with text) if it is
 * not a number or above `max`. */
int message_get_u64(const struct message *m, const char *key, uint64_t max, uint64_t fallback,
                    uint64_t *ret, struct error *error);

/* Validate a received message: m->size bytes in m->data; more than MESSAGE_MAX if the datagram was
 * longer (recv with MSG_TRUNC). -EBADMSG: empty, too long, not NUL-terminated, a field without '='
 * or with an empty key, VERSION not first or not a number; -EPROTONOSUPPORT: an unsupported
 * version. A message that failed must not be passed to the other functions. */
int message_check(const struct message *m, struct error *error);

#endif
