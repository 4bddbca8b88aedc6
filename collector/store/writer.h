/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's thread: it alone has the read-write connection. It runs requests in order, many in
 * one transaction, and deletes old rows when it is idle. The main loop never waits for a disk.
 */
#ifndef JOBIO_COLLECTOR_STORE_WRITER_H
#define JOBIO_COLLECTOR_STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/store/store.h"

struct writer;

/* A request to the store. It runs on the writer's thread, inside a transaction shared with other
 * requests, so it must not call store_begin or store_sweep. A negative return undoes only what this
 * request wrote and is passed to its writer_done_f with the text. No other code may touch `arg`
 * before that call. */
typedef int (*writer_run_f)(struct store *store, void *arg, struct error *error);
/* Called once per request, in order, on the thread that calls writer_dispatch. result 0: the
 * request is committed, and on disk if it is final. Otherwise nothing of it is stored and the
 * caller still has the data. Must free `arg` if necessary. */
typedef void (*writer_done_f)(int result, const struct error *error, void *arg);

/* Takes ownership of the store and closes it later, but not on failure. capacity: limit of queued
 * requests; 0: the default (1024). sweep_ms: interval of retention; 0: the default (10 minutes). */
int writer_create(struct writer **ret, struct store *store, size_t capacity, unsigned sweep_ms,
                  struct error *error);
/* Run all queued requests, dispatch every outcome and close the store. Accepts NULL. */
void writer_destroy(struct writer *writer);

/* Queue a request. final: it must be on disk when `done` is called with 0. `done` may be NULL.
 * -EAGAIN: the queue is full; the caller keeps `arg` and may retry after a writer_dispatch. */
int writer_submit(struct writer *writer, bool final, writer_run_f run, writer_done_f done,
                  void *arg);

/* Readable (POLLIN) when outcomes are pending; writer_dispatch calls their writer_done_f and
 * returns their number. */
int writer_fd(const struct writer *writer);
size_t writer_dispatch(struct writer *writer);
/* Wait until all requests queued so far are done, and dispatch them, at the end of the process.
 * Returns 0 or -ETIMEDOUT. */
int writer_flush(struct writer *writer, unsigned timeout_ms);

struct writer_stats {
    size_t waiting, capacity; /* requests queued and not yet committed */
    uint64_t done, failed;    /* requests */
    uint64_t commits;         /* transactions */
    uint64_t refused;         /* -EAGAIN */
    uint64_t deleted_early;   /* store_deleted_early() */
    struct error sweep_error; /* the last sweep's, text "" if it went well */
};
void writer_stats(struct writer *writer, struct writer_stats *ret);

#endif
