/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded question to jobiod over its Unix socket. Used by the plugin (in slurmstepd: no thread,
 * no allocation, nothing but libc) and by the command. Every call has one deadline for everything:
 * connect, send, receive.
 */
#ifndef JOBIO_COMMON_CALL_H
#define JOBIO_COMMON_CALL_H

#include "common/message.h"

#define JOBIO_RUNTIME_DIR "/run/jobio"
#define JOBIO_SOCKET_NAME "jobiod.sock"

/* Connect, send `m`, and receive the answer into the same `m` (checked with message_check).
 * -ENOENT, -ECONNREFUSED: no jobiod there; -ETIMEDOUT; -ECONNRESET: closed without an answer; or
 * what message_check says. An answer of STATUS=error gives -EREMOTEIO with its ERROR text. After a
 * failure the contents of `m` are undefined. SIGPIPE is never raised. */
int call(const char *socket_path, struct message *m, unsigned timeout_ms, struct error *error);

/* The same in pieces, for answers of more than one message (MORE=1 in all but the last; the value
 * of TEXT of each is a part). Close the descriptor when done. */
int call_open(const char *socket_path, const struct message *m, unsigned timeout_ms,
              struct error *error); /* fd >= 0 or negative errno */
int call_receive(int fd, struct message *m, unsigned timeout_ms, struct error *error);

#endif
