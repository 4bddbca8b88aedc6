/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small texts that outlive the process: the state of other modules, in the store by key. */
#ifndef JOBIO_COLLECTOR_DAEMON_NOTES_H
#define JOBIO_COLLECTOR_DAEMON_NOTES_H

#include "common/error.h"

struct notes;
struct store;
struct writer;

/* Until notes_attach(), the store is written directly; NULL: notes are dropped. */
int notes_create(struct notes **ret, struct store *store, struct error *error);
/* From now on the writer owns the store. */
void notes_attach(struct notes *notes, struct writer *writer);
void notes_destroy(struct notes *notes); /* accepts NULL */

/* Store a text like store_put_state(); NULL removes it. Best effort: failures are logged. */
void notes_put(struct notes *notes, const char *key, const char *value);

#endif
