/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the jobiod of another host, over HTTP (doc/protocol.md, "Between nodes"). munge
 * proves to it who sends them, and only this user can open the answer. */
#ifndef JOBIO_CLI_SOURCE_REMOTE_H
#define JOBIO_CLI_SOURCE_REMOTE_H

#include "common/error.h"
#include "common/message.h"

/* Send `m`, a request of the local protocol, to http[s]://HOST:PORT. *ret is the text of the
 * answer, malloc'd; its other keys (APPLIED, CUT) replace `m`. munge_socket NULL: munge's default.
 * -EHOSTUNREACH: no answer; -EREMOTEIO: refused, with the text of the other side; -ENOTCONN: munged
 * does not run here; -EBADMSG: the answer is not one of a jobiod. Can be called on several threads
 * after curl_global_init(). */
int remote_ask(const char *url, const char *munge_socket, struct message *m, unsigned timeout_ms,
               char **ret, struct error *error);

#endif
