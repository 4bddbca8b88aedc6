/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests to jobiod over its Unix socket. Used by the command and by the plugin (in slurmstepd: no
 * thread, no allocation, only libc). The timeout covers connect, send and receive together.
 */
#ifndef JOBIO_COMMON_CALL_H
#define JOBIO_COMMON_CALL_H

#include "common/message.h"

#define JOBIO_RUNTIME_DIR "/run/jobio"
#define JOBIO_SOCKET_NAME "jobiod.sock"

/* Connect, send `m`, and receive the answer into the same `m` (checked with message_check).
 * -ENOENT, -ECONNREFUSED: jobiod does not run; -ETIMEDOUT; -ECONNRESET: closed without an answer;
 * -EREMOTEIO with the ERROR text: the answer has STATUS=error; and the errors of message_check.
 * After a failure the contents of `m` are undefined. SIGPIPE is never raised. */
int call(const char *socket_path, struct message *m, unsigned timeout_ms, struct error *error);

/* The same in two steps, for answers of several messages: all but the last have MORE=1, and each
 * has a part of the text in TEXT. The caller closes the descriptor. */
int call_open(const char *socket_path, const struct message *m, unsigned timeout_ms,
              struct error *error); /* fd >= 0 or negative errno */
int call_receive(int fd, struct message *m, unsigned timeout_ms, struct error *error);

#endif
