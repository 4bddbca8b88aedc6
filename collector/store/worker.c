/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pthread_setname_np */
#include "collector/store/worker.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

struct task_list {
    struct worker_task *head, **tail;
};

struct worker {
    struct worker_options options;
    pthread_t thread;
    struct timespec idle_at; /* used by the thread only: when `idle` is due */
    int fd;
    pthread_mutex_t mutex; /* protects everything below */
    pthread_cond_t wanted; /* a task was queued, or `stop` was set */
    pthread_cond_t made;   /* an outcome was added */
    struct task_list queue, outcomes;
    size_t waiting, undispatched; /* tasks without, and with an outcome */
    uint64_t submitted, done, failed, refused;
    uint64_t turn, owner; /* of the last task that was started */
    bool stop;
};

static void list_init(struct task_list *list)
{
    list->head = NULL;
    list->tail = &list->head;
}

static void list_append(struct task_list *list, struct worker_task *first, struct worker_task *last)
{
    *list->tail = first;
    list->tail = &last->next;
}

/* Insert after all tasks of the same or an earlier turn. */
static void list_insert(struct task_list *list, struct worker_task *task)
{
    struct worker_task **at = &list->head;

    while (*at && (*at)->turn <= task->turn)
        at = &(*at)->next;
    task->next = *at;
    *at = task;
    if (!task->next)
        list->tail = &task->next;
}

/* Remove up to `max` tasks from the front; *n: how many. */
static struct worker_task *list_take(struct task_list *list, size_t max, size_t *n)
{
    struct worker_task *head = list->head, **end = &list->head;

    for (*n = 0; *n < max && *end; (*n)++)
        end = &(*end)->next;
    list->head = *end;
    *end = NULL;
    if (!list->head)
        list->tail = &list->head;
    return *n ? head : NULL;
}

static struct timespec after_ms(unsigned ms)
{
    uint64_t at = clock_ns(CLOCK_MONOTONIC) + ms * NS_PER_MS;

    return (struct timespec){.tv_sec = (time_t)(at / NS_PER_S), .tv_nsec = (long)(at % NS_PER_S)};
}

/* Called with the mutex held. Returns false at the end. New tasks do not postpone `idle`: a node
 * with jobs always has rows to write. */
static bool worker_wait(struct worker *worker)
{
    const struct worker_options *o = &worker->options;
    struct timespec *at = &worker->idle_at;

    while (!worker->queue.head && !worker->stop) {
        if (!o->idle) {
            (void)pthread_cond_wait(&worker->wanted, &worker->mutex);
        } else if (pthread_cond_timedwait(&worker->wanted, &worker->mutex, at) == ETIMEDOUT &&
                   !worker->queue.head && !worker->stop) {
            (void)pthread_mutex_unlock(&worker->mutex);
            *at = after_ms(o->idle(o->owner));
            (void)pthread_mutex_lock(&worker->mutex);
        }
    }
    return worker->queue.head != NULL;
}

/* Called with the mutex held. */
static struct worker_task *worker_take(struct worker *worker, size_t *n)
{
    struct worker_task *tasks = list_take(&worker->queue, worker->options.batch, n);

    for (const struct worker_task *task = tasks; task; task = task->next) {
        worker->turn = task->turn;
        worker->owner = task->owner;
    }
    return tasks;
}

static void worker_finish(struct worker *worker, struct worker_task *tasks, size_t n)
{
    const uint64_t one = 1;
    struct worker_task *last = tasks;

    for (struct worker_task *task = tasks; task; task = task->next) {
        last = task;
        worker->done++;
        worker->failed += task->result < 0;
    }
    worker->waiting -= n;
    worker->undispatched += n;
    list_append(&worker->outcomes, tasks, last);
    (void)pthread_cond_broadcast(&worker->made);
    /* Fails only at 2^64 - 1 outcomes. */
    (void)!write(worker->fd, &one, sizeof(one));
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;

    (void)pthread_mutex_lock(&worker->mutex);
    while (worker_wait(worker)) {
        size_t n;
        struct worker_task *tasks = worker_take(worker, &n);

        (void)pthread_mutex_unlock(&worker->mutex);
        worker->options.execute(tasks, n, worker->options.owner);
        (void)pthread_mutex_lock(&worker->mutex);
        worker_finish(worker, tasks, n);
    }
    (void)pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

/* The main loop handles all signals. */
static int thread_start(struct worker *worker)
{
    sigset_t all, before;
    int r;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    r = pthread_create(&worker->thread, NULL, worker_main, worker);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (r == 0)
        (void)pthread_setname_np(worker->thread, worker->options.name);
    return -r;
}

static void worker_free(struct worker *worker)
{
    if (worker->fd >= 0)
        (void)close(worker->fd);
    (void)pthread_cond_destroy(&worker->made);
    (void)pthread_cond_destroy(&worker->wanted);
    (void)pthread_mutex_destroy(&worker->mutex);
    free(worker);
}

int worker_create(struct worker **ret, const struct worker_options *options, struct error *error)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    pthread_condattr_t monotonic;
    int r = 0;

    if (!worker)
        return error_errno(error, -ENOMEM, "thread \"%s\"", options->name);
    worker->options = *options;
    worker->idle_at = after_ms(options->idle_ms);
    list_init(&worker->queue);
    list_init(&worker->outcomes);
    (void)pthread_mutex_init(&worker->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&worker->wanted, &monotonic);
    (void)pthread_cond_init(&worker->made, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    worker->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r = worker->fd < 0 ? -errno : thread_start(worker);
    if (r < 0) {
        worker_free(worker);
        return error_errno(error, r, "thread \"%s\"", options->name);
    }
    *ret = worker;
    return 0;
}

void worker_destroy(struct worker *worker)
{
    if (!worker)
        return;
    (void)pthread_mutex_lock(&worker->mutex);
    worker->stop = true;
    (void)pthread_cond_signal(&worker->wanted);
    (void)pthread_mutex_unlock(&worker->mutex);
    (void)pthread_join(worker->thread, NULL);
    (void)worker_dispatch(worker);
    worker_free(worker);
}

/* Tasks run in the order of their turns, and each owner has one task per turn: between two tasks of
 * an owner, every other owner gets one. *n: the number of queued tasks of the owner. */
static uint64_t next_turn(const struct worker *worker, uint64_t owner, size_t *n)
{
    uint64_t turn = worker->turn + (worker->owner == owner);

    *n = 0;
    for (const struct worker_task *task = worker->queue.head; task; task = task->next)
        if (task->owner == owner) {
            turn = task->turn + 1;
            (*n)++;
        }
    return turn;
}

int worker_submit(struct worker *worker, const struct worker_task *task)
{
    struct worker_task *copy = malloc(sizeof(*copy));
    size_t same;
    bool full;

    if (!copy)
        return -ENOMEM;
    *copy = *task;
    copy->next = NULL;
    copy->result = 0;
    copy->error.text[0] = '\0';
    copy->queued_ns = clock_ns(CLOCK_MONOTONIC);
    (void)pthread_mutex_lock(&worker->mutex);
    copy->turn = next_turn(worker, task->owner, &same);
    full = worker->stop || worker->waiting + worker->undispatched >= worker->options.capacity ||
           (task->owner && worker->options.each && same >= worker->options.each);
    if (full) {
        worker->refused++;
    } else {
        list_insert(&worker->queue, copy);
        worker->waiting++;
        worker->submitted++;
        (void)pthread_cond_signal(&worker->wanted);
    }
    (void)pthread_mutex_unlock(&worker->mutex);
    if (full)
        free(copy);
    return full ? -EAGAIN : 0;
}

int worker_fd(const struct worker *worker)
{
    return worker->fd;
}

size_t worker_dispatch(struct worker *worker)
{
    struct worker_task *tasks;
    uint64_t count;
    size_t n;

    (void)pthread_mutex_lock(&worker->mutex);
    (void)!read(worker->fd, &count, sizeof(count)); /* EAGAIN: no new outcome */
    tasks = list_take(&worker->outcomes, SIZE_MAX, &n);
    worker->undispatched -= n;
    (void)pthread_mutex_unlock(&worker->mutex);
    while (tasks) {
        struct worker_task *task = tasks;

        tasks = task->next;
        if (task->done)
            task->done(task->result, &task->error, task->arg);
        free(task);
    }
    return n;
}

int worker_flush(struct worker *worker, unsigned timeout_ms)
{
    struct timespec at = after_ms(timeout_ms);
    uint64_t goal;
    int r = 0;

    (void)pthread_mutex_lock(&worker->mutex);
    goal = worker->submitted;
    while (worker->done < goal && r == 0)
        r = pthread_cond_timedwait(&worker->made, &worker->mutex, &at);
    r = worker->done < goal ? -ETIMEDOUT : 0;
    (void)pthread_mutex_unlock(&worker->mutex);
    (void)worker_dispatch(worker);
    return r;
}

void worker_stats(struct worker *worker, struct worker_stats *ret)
{
    (void)pthread_mutex_lock(&worker->mutex);
    *ret = (struct worker_stats){.waiting = worker->waiting,
                                 .capacity = worker->options.capacity,
                                 .done = worker->done,
                                 .failed = worker->failed,
                                 .refused = worker->refused};
    (void)pthread_mutex_unlock(&worker->mutex);
}
