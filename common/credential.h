/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MUNGE credentials: a text that carries a payload, encrypted, and proves to any other node of the
 * cluster which user made it, a short while ago. Every call asks the local munged and waits for it:
 * not for a thread that must not block.
 */
#ifndef JOBIO_COMMON_CREDENTIAL_H
#define JOBIO_COMMON_CREDENTIAL_H

#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* A question to munged has at most 1 MiB (MUNGE_MAXIMUM_REQ_LEN), and to open a credential it gets
 * the text, which is base64. */
#define CREDENTIAL_TEXT_MAX (1024 * 1024)
#define CREDENTIAL_PAYLOAD_MAX (720 * 1024)

/* socket: munged's, NULL: the usual one. *ret: malloc'd text. -EMSGSIZE: the payload is too large;
 * -ENOTCONN: munged does not answer; -EIO. */
int credential_make(const char *socket, const void *payload, size_t size, char **ret,
                    struct error *error);

/* The payload (malloc'd, with a NUL behind it that does not count) and who made the credential.
 * -EKEYREJECTED: forged, damaged or of another cluster; -EALREADY: it was opened here before;
 * -ETIME: too old, or from the future (the clocks differ); -EACCES: meant for others; -ENOTCONN. */
int credential_open(const char *socket, const char *text, char **payload, size_t *size, uid_t *uid,
                    struct error *error);

#endif
