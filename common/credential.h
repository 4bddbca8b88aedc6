/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MUNGE credentials: a text with an encrypted payload, which proves to all nodes of the cluster
 * which user made it recently. The functions wait for the local munged: do not call them on a
 * thread that must not block.
 */
#ifndef JOBIO_COMMON_CREDENTIAL_H
#define JOBIO_COMMON_CREDENTIAL_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/error.h"

/* munged accepts requests of at most 1 MiB (MUNGE_MAXIMUM_REQ_LEN). The request to open a
 * credential contains its text, which is base64. */
#define CREDENTIAL_TEXT_MAX (1024 * 1024)
#define CREDENTIAL_PAYLOAD_MAX (720 * 1024)

/* socket: that of munged; NULL: the default. reader: the only user who can open the credential, on
 * any node. *ret is malloc'd text. -EMSGSIZE: the payload is too large; -ENOTCONN: munged does not
 * answer; -EIO. */
int credential_make(const char *socket, uid_t reader, const void *payload, size_t size, char **ret,
                    struct error *error);

struct credential_maker {
    uid_t uid;
    /* The address of the maker's host, as its munged found it; 0.0.0.0: it did not find one. */
    struct in_addr origin;
};

/* Returns the payload (malloc'd; NUL-terminated, the NUL is not part of *size) and who made the
 * credential. -EKEYREJECTED: forged, damaged or of another cluster; -EALREADY: it was
 * opened on this node before; -ETIME: too old, or from the future (the clocks differ); -EACCES: for
 * another user; -ENOTCONN. */
int credential_open(const char *socket, const char *text, char **payload, size_t *size,
                    struct credential_maker *maker, struct error *error);

/* Returns the address of a function of libmunge, which tells its file (versions_print_file()). */
void *credential_library(void);

#endif
