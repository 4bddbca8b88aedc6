/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small texts that outlive the process: the state of other modules, kept in the store under a key.
 */
#ifndef JOBIO_COLLECTOR_DAEMON_NOTES_H
#define JOBIO_COLLECTOR_DAEMON_NOTES_H

#include "common/error.h"

struct notes;
struct store;
struct writer;

/* The store is written directly until notes_attach(); NULL: nothing is kept until then. */
int notes_create(struct notes **ret, struct store *store, struct error *error);
/* From now on the writer has the store. */
void notes_attach(struct notes *notes, struct writer *writer);
void notes_destroy(struct notes *notes); /* NULL is fine */

/* Keep a text as store_put_state(); NULL removes it. Best effort: a failure is logged. */
void notes_put(struct notes *notes, const char *key, const char *value);

#endif
