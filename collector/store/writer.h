/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's thread: it alone holds the read-write connection, does what it is handed in order,
 * many requests in one transaction, and sweeps old rows when it has nothing else to do. The main
 * loop never waits for a disk.
 */
#ifndef JOBIO_COLLECTOR_STORE_WRITER_H
#define JOBIO_COLLECTOR_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/store/store.h"

struct writer;

/* What to do with the store: on the writer's thread, inside a transaction that others share (so no
 * store_begin and no store_sweep in it). A negative return undoes what this request wrote, nothing
 * else, and goes to its writer_done_f with the text. `arg` must not be touched by anyone else
 * before that call. */
typedef int (*writer_run_f)(struct store *store, void *arg, struct error *error);
/* The outcome, on the thread that calls writer_dispatch, once a request, in order. result 0: it is
 * committed, a final one is on disk. Else nothing of it is stored and the caller still has the
 * data. Frees `arg` if that is due. */
typedef void (*writer_done_f)(int result, const struct error *error, void *arg);

/* Takes the store over (also its closing), but not on failure. capacity: requests that may wait, 0:
 * the default (1024). sweep_ms: how often retention runs, 0: the default (10 minutes). */
int writer_create(struct writer **ret, struct store *store, size_t capacity, unsigned sweep_ms,
                  struct error *error);
/* Carries out what is queued, dispatches every outcome, closes the store. NULL is fine. */
void writer_destroy(struct writer *writer);

/* Queue a request. final: must be on disk when `done` hears 0. `done` may be NULL. -EAGAIN: the
 * queue is full; nothing is taken over, try again after a writer_dispatch. */
int writer_submit(struct writer *writer, bool final, writer_run_f run, writer_done_f done,
                  void *arg);

/* Readable (POLLIN) when outcomes wait; then writer_dispatch calls their writer_done_f and returns
 * how many. */
int writer_fd(const struct writer *writer);
size_t writer_dispatch(struct writer *writer);
/* Wait until everything queued so far is done, and dispatch it; -ETIMEDOUT. For the end of the
 * process. */
int writer_flush(struct writer *writer, unsigned timeout_ms);

struct writer_stats {
    size_t waiting, capacity; /* requests queued and not yet committed */
    uint64_t done, failed;    /* requests */
    uint64_t commits;         /* transactions */
    uint64_t refused;         /* -EAGAIN */
    struct error sweep_error; /* the last sweep's, text "" if it went well */
};
void writer_stats(struct writer *writer, struct writer_stats *ret);

#endif
