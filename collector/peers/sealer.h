/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes and opens munge credentials on a thread of its own, because each is a request to munged,
 * which may be slow. Payloads are parsed there, too, so that a long one does not block the main
 * loop.
 */
#ifndef JOBIO_COLLECTOR_PEERS_SEALER_H
#define JOBIO_COLLECTOR_PEERS_SEALER_H

#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/credential.h"
#include "common/error.h"

struct sealer;

/* socket: munged's socket, copied; NULL: munge's default. Returns 0 or -errno. */
int sealer_create(struct sealer **ret, sd_event *loop, const char *socket, struct error *error);
/* Finish all queued work, call every `done`, and free. Accepts NULL. */
void sealer_destroy(struct sealer *sealer);

/* Limit of credentials queued to be made or opened; more are refused. */
#define SEALER_MAX 8192
#define SEALER_BYTES_MAX ((size_t)64 << 20) /* limit of bytes of those to be opened */

/* Called on the loop, never inside sealer_seal(). text: the credential, valid until it returns. */
typedef void (*sealer_sealed_f)(int result, const struct error *error, const char *text, void *arg);
/* reader: the only user who can open the credential. Takes ownership of the malloc'd payload, also
 * on failure. Returns 0, -EAGAIN (too many are queued) or -ENOMEM; on failure `done` is not called.
 */
int sealer_seal(struct sealer *sealer, uid_t reader, char *payload, size_t size,
                sealer_sealed_f done, void *arg);

/* Called on the sealer's thread: parse the NUL-terminated payload. No other code may touch `arg`
 * before `done`. */
typedef int (*sealer_read_f)(const char *payload, size_t size, const struct credential_maker *maker,
                             void *arg, struct error *error);
/* Called on the loop. result: the error of opening the credential, else the result of `read`. */
typedef void (*sealer_opened_f)(int result, const struct error *error, void *arg);
/* Copies the text. Returns 0, -EAGAIN or -ENOMEM; on failure `done` is not called. */
int sealer_open(struct sealer *sealer, const char *text, size_t size, sealer_read_f read,
                sealer_opened_f done, void *arg);

#endif
