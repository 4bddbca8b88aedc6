/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/store/writer.h"

#include <pthread.h>
#include <stdlib.h>

#include "collector/store/store_impl.h"
#include "collector/store/worker.h"
#include "common/clock.h"

/* Requests per fsync. A small write takes 0.2 ms and an fsync several ms, so a node that ends 100
 * steps per second keeps the thread far from saturated. */
#define BATCH 64
#define DEFAULT_CAPACITY 1024
#define DEFAULT_SWEEP_MS (10 * 60 * 1000)
/* Sweeps after a commit, while the store is full; a sweep takes a few milliseconds. */
#define MOST_SWEEPS 64
#define FULL_REST_NS (10 * NS_PER_S)

struct writer {
    struct store *store; /* used by the thread only */
    struct worker *worker;
    unsigned sweep_ms;
    uint64_t full_until_ns; /* no sweep after a commit until then, CLOCK_MONOTONIC */
    pthread_mutex_t mutex;  /* protects what is below */
    uint64_t commits, deleted_early;
    struct error sweep_error;
};

static void fail_all(struct worker_task *tasks, int result, const struct error *error)
{
    for (struct worker_task *task = tasks; task; task = task->next) {
        if (task->result < 0) /* it failed by itself */
            continue;
        task->result = result;
        task->error = *error;
    }
}

static void run_one(struct store *store, struct worker_task *task)
{
    task->result = store_savepoint(store, &task->error);
    if (task->result < 0)
        return;
    task->result = task->run(store, task->arg, &task->error);
    if (task->result >= 0)
        task->result = store_release(store, &task->error);
    if (task->result < 0)
        store_undo(store);
}

static int sweep(struct writer *writer, bool *more)
{
    struct error error = {0};
    int r = store_sweep(writer->store, clock_ns(CLOCK_REALTIME), more, &error);

    if (r == 0)
        error.text[0] = '\0';
    (void)pthread_mutex_lock(&writer->mutex);
    writer->sweep_error = error;
    writer->deleted_early = store_deleted_early(writer->store);
    (void)pthread_mutex_unlock(&writer->mutex);
    return r;
}

/* The next sweep may be minutes away. Rest if the store is full of rows that cannot be deleted. */
static void make_room(struct writer *writer)
{
    bool more = true;
    int sweeps = 0;

    if (clock_ns(CLOCK_MONOTONIC) < writer->full_until_ns)
        return;
    while (store_is_full(writer->store, NULL) > 0 && sweeps++ < MOST_SWEEPS) {
        if (more && sweep(writer, &more) == 0)
            continue;
        writer->full_until_ns = clock_ns(CLOCK_MONOTONIC) + FULL_REST_NS;
        return;
    }
}

static void writer_execute(struct worker_task *tasks, size_t n, void *owner)
{
    struct writer *writer = owner;
    struct error error;
    bool final = false;
    int r;

    (void)n;
    for (struct worker_task *task = tasks; task; task = task->next)
        final = final || task->final;
    r = store_begin(writer->store, final, &error);
    if (r == 0) {
        for (struct worker_task *task = tasks; task; task = task->next)
            run_one(writer->store, task);
        r = store_commit(writer->store, &error);
    }
    if (r < 0) {
        fail_all(tasks, r, &error);
        return;
    }
    (void)pthread_mutex_lock(&writer->mutex);
    writer->commits++;
    (void)pthread_mutex_unlock(&writer->mutex);
    make_room(writer);
}

static unsigned writer_sweep(void *owner)
{
    struct writer *writer = owner;
    bool more = false;

    (void)sweep(writer, &more);
    return more ? 0 : writer->sweep_ms;
}

int writer_create(struct writer **ret, struct store *store, size_t capacity, unsigned sweep_ms,
                  struct error *error)
{
    struct writer *writer = calloc(1, sizeof(*writer));
    int r;

    if (!writer)
        return error_errno(error, -ENOMEM, "writer");
    writer->store = store;
    writer->sweep_ms = sweep_ms ? sweep_ms : DEFAULT_SWEEP_MS;
    (void)pthread_mutex_init(&writer->mutex, NULL);
    r = worker_create(&writer->worker,
                      &(struct worker_options){.name = "jobiod-store",
                                               .capacity = capacity ? capacity : DEFAULT_CAPACITY,
                                               .batch = BATCH,
                                               .execute = writer_execute,
                                               .idle = writer_sweep,
                                               .idle_ms = writer->sweep_ms,
                                               .owner = writer},
                      error);
    if (r < 0) {
        (void)pthread_mutex_destroy(&writer->mutex);
        free(writer);
        return r;
    }
    *ret = writer;
    return 0;
}

void writer_destroy(struct writer *writer)
{
    if (!writer)
        return;
    worker_destroy(writer->worker);
    store_close(writer->store);
    (void)pthread_mutex_destroy(&writer->mutex);
    free(writer);
}

int writer_submit(struct writer *writer, bool final, writer_run_f run, writer_done_f done,
                  void *arg)
{
    return worker_submit(writer->worker, &(struct worker_task){
                                             .run = run, .done = done, .arg = arg, .final = final});
}

int writer_fd(const struct writer *writer)
{
    return worker_fd(writer->worker);
}

size_t writer_dispatch(struct writer *writer)
{
    return worker_dispatch(writer->worker);
}

int writer_flush(struct writer *writer, unsigned timeout_ms)
{
    return worker_flush(writer->worker, timeout_ms);
}

void writer_stats(struct writer *writer, struct writer_stats *ret)
{
    struct worker_stats stats;

    worker_stats(writer->worker, &stats);
    *ret = (struct writer_stats){.waiting = stats.waiting,
                                 .capacity = stats.capacity,
                                 .done = stats.done,
                                 .failed = stats.failed,
                                 .refused = stats.refused};
    (void)pthread_mutex_lock(&writer->mutex);
    ret->commits = writer->commits;
    ret->sweep_error = writer->sweep_error;
    ret->deleted_early = writer->deleted_early;
    (void)pthread_mutex_unlock(&writer->mutex);
}
