/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread with a bounded queue, for work that must not block the main loop. The main thread
 * submits tasks; those of one owner run in order, and their outcomes return to the main thread
 * through a descriptor. The base of writer.h and query.h.
 */
#ifndef JOBIO_COLLECTOR_STORE_WORKER_H
#define JOBIO_COLLECTOR_STORE_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/store/store.h"

struct worker;

struct worker_task {
    int (*run)(struct store *store, void *arg, struct error *error);
    void (*done)(int result, const struct error *error, void *arg); /* may be NULL */
    void *arg;
    bool final;
    uint64_t owner;     /* tasks of several owners run in turn; 0: unowned */
    uint64_t queued_ns; /* CLOCK_MONOTONIC, set by worker_submit */
    int result;         /* set by `execute`, with `error` */
    struct error error;
    struct worker_task *next; /* private to the worker, as is `turn` */
    uint64_t turn;
};

struct worker_options {
    const char *name; /* of the thread, at most 15 bytes */
    size_t capacity;  /* limit of tasks whose outcome is not dispatched yet */
    size_t each;      /* limit of waiting tasks per owner; unowned tasks are exempt; 0: no limit */
    size_t batch;     /* maximum number of tasks per call of `execute` */
    /* On the worker's thread: run the n >= 1 tasks, linked by `next`. */
    void (*execute)(struct worker_task *tasks, size_t n, void *owner);
    /* On the worker's thread, while no task waits: returns in how many ms to call it again, whether
     * or not tasks come meanwhile. May be NULL. First called after idle_ms. */
    unsigned (*idle)(void *owner);
    unsigned idle_ms;
    void *owner;
};

int worker_create(struct worker **ret, const struct worker_options *options, struct error *error);
/* Run all queued tasks, end the thread and dispatch every outcome. Accepts NULL. */
void worker_destroy(struct worker *worker);

/* Copies the task. -EAGAIN: the queue is full, or this owner has reached its limit. */
int worker_submit(struct worker *worker, const struct worker_task *task);
int worker_fd(const struct worker *worker);
size_t worker_dispatch(struct worker *worker);
/* Wait for what is queued now, then dispatch; -ETIMEDOUT. */
int worker_flush(struct worker *worker, unsigned timeout_ms);

struct worker_stats {
    size_t waiting, capacity;
    uint64_t done, failed, refused;
};
void worker_stats(struct worker *worker, struct worker_stats *ret);

#endif
