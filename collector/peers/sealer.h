/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes and opens munge credentials on a thread of its own: each is a question to munged, which may
 * be slow. Payloads are also read there, so that a long one does not hold up the main loop.
 */
#ifndef JOBIO_COLLECTOR_PEERS_SEALER_H
#define JOBIO_COLLECTOR_PEERS_SEALER_H

#include <stddef.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "common/error.h"

struct sealer;

/* socket: munged's, NULL: the usual one; copied. */
int sealer_create(struct sealer **ret, sd_event *loop, const char *socket, struct error *error);
/* Carries out what was asked, calls every `done`. NULL is fine. */
void sealer_destroy(struct sealer *sealer);

/* Credentials that wait to be made or opened; more are refused. */
#define SEALER_MAX 8192
#define SEALER_BYTES_MAX ((size_t)64 << 20) /* of those to be opened */

/* On the loop, never inside the call. text: the credential, good until the call returns. */
typedef void (*sealer_sealed_f)(int result, const struct error *error, const char *text, void *arg);
/* Takes the malloc'd payload over, also when it fails: -EAGAIN: too many wait; -ENOMEM. Then `done`
 * is not called. */
int sealer_seal(struct sealer *sealer, char *payload, size_t size, sealer_sealed_f done, void *arg);

/* On the sealer's thread: read the payload (a NUL is behind it). `arg` must not be touched by
 * anyone else before `done`. */
typedef int (*sealer_read_f)(const char *payload, size_t size, uid_t uid, void *arg,
                             struct error *error);
/* On the loop: result is that of the credential, else that of `read`. */
typedef void (*sealer_opened_f)(int result, const struct error *error, void *arg);
/* Copies the text. -EAGAIN, -ENOMEM: `done` is not called. */
int sealer_open(struct sealer *sealer, const char *text, size_t size, sealer_read_f read,
                sealer_opened_f done, void *arg);

#endif
