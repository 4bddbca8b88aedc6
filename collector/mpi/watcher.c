/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* pthread_setname_np */
#include "collector/mpi/watcher.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collector/mpi/finder.h"
#include "collector/probe/mpi.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/numbers.h"

/* Between two attempts to load the programs: the first pause, and the longest one. */
#define LOAD_PAUSE_NS NS_PER_S
#define LOAD_PAUSE_MAX_NS (300 * NS_PER_S)
/* How long the end of jobiod is delayed by a thread that hangs. */
#define JOIN_S 5

struct watched {
    uint32_t step;
    bool gone;      /* it was removed: the thread forgets it */
    bool added;     /* it is in the map of the programs */
    bool more;      /* not all of its processes were listed */
    uint32_t *pids; /* owned; to be scanned; NULL: none */
    size_t n_pids;
};

struct mpi_watcher {
    const struct probe *probe;
    uint64_t linger_ns;
    uint64_t
        unused_ns;    /* CLOCK_MONOTONIC: when the thread saw no step any more; 0: there are some */
    uint64_t load_ns; /* CLOCK_MONOTONIC: no attempt of the thread to load before */
    uint64_t load_pause_ns; /* since the last one */
    pthread_t thread;
    bool started;
    int wake_fd;

    /* For everything below. The thread alone sets `mpi`, `why` and `finder`. */
    pthread_mutex_t mutex;
    bool stop;
    struct watched *steps;
    size_t n;
    struct mpi_probe *mpi;     /* NULL: not loaded */
    struct error why;          /* it cannot be loaded; "" otherwise */
    struct mpi_finder *finder; /* NULL: not attached */
};

static struct watched *find(const struct mpi_watcher *watcher, uint32_t step)
{
    for (size_t i = 0; i < watcher->n; i++)
        if (watcher->steps[i].step == step && !watcher->steps[i].gone)
            return &watcher->steps[i];
    return NULL;
}

/* --- the thread ------------------------------------------------------------------------------- */

static bool has_to_load(const struct mpi_watcher *watcher, bool wanted)
{
    return wanted && !watcher->mpi && watcher->load_ns <= clock_ns(CLOCK_MONOTONIC);
}

static void load(struct mpi_watcher *watcher)
{
    uint64_t pause = watcher->load_pause_ns * 2;
    struct mpi_probe *mpi = NULL;
    struct error why = {.text = ""};

    if (mpi_probe_create(&mpi, watcher->probe, &why) == 0)
        why.text[0] = '\0';
    pause = pause < LOAD_PAUSE_MAX_NS ? pause : LOAD_PAUSE_MAX_NS;
    watcher->load_pause_ns = pause ? pause : LOAD_PAUSE_NS;
    watcher->load_ns = clock_ns(CLOCK_MONOTONIC) + watcher->load_pause_ns;
    (void)pthread_mutex_lock(&watcher->mutex);
    watcher->mpi = mpi;
    watcher->why = why;
    (void)pthread_mutex_unlock(&watcher->mutex);
}

/* The programs count the steps that are new. */
static void add_to_map(struct mpi_watcher *watcher)
{
    for (size_t i = 0; i < watcher->n; i++) {
        struct watched *watched = &watcher->steps[i];

        if (!watched->added && !watched->gone)
            watched->added = mpi_probe_add(watcher->mpi, watched->step, &(struct error){0}) == 0;
    }
}

static void forget(struct mpi_watcher *watcher, uint32_t step)
{
    if (watcher->finder)
        mpi_finder_forget(watcher->finder, step);
    if (watcher->mpi)
        mpi_probe_remove(watcher->mpi, step);
}

/* Take a step that is gone, or one with processes to scan, out of the list. */
static bool take_work(struct mpi_watcher *watcher, struct watched *ret)
{
    bool found = false;

    (void)pthread_mutex_lock(&watcher->mutex);
    for (size_t i = 0; i < watcher->n && !found; i++) {
        struct watched *watched = &watcher->steps[i];

        found = watched->gone || watched->pids;
        if (!found)
            continue;
        *ret = *watched;
        watched->pids = NULL;
        if (watched->gone)
            *watched = watcher->steps[--watcher->n];
    }
    (void)pthread_mutex_unlock(&watcher->mutex);
    return found;
}

static void do_work(struct mpi_watcher *watcher)
{
    struct watched work;

    while (take_work(watcher, &work)) {
        if (work.gone)
            forget(watcher, work.step);
        else if (watcher->finder)
            mpi_finder_scan(watcher->finder, work.step, work.pids, work.n_pids);
        free(work.pids);
    }
}

static void publish(struct mpi_watcher *watcher, struct mpi_finder *finder)
{
    (void)pthread_mutex_lock(&watcher->mutex);
    watcher->finder = finder;
    (void)pthread_mutex_unlock(&watcher->mutex);
}

/* While they are wanted, the programs are attached to the libraries. */
static void update_finder(struct mpi_watcher *watcher, bool wanted)
{
    struct mpi_finder *finder = watcher->finder;

    if (wanted && watcher->mpi && !finder) {
        finder = mpi_finder_create(watcher->mpi);
        if (finder)
            mpi_finder_expect(finder, NULL, NULL);
        publish(watcher, finder);
    } else if (!wanted && finder) {
        publish(watcher, NULL);
        mpi_finder_destroy(finder);
    }
}

/* When to detach, CLOCK_MONOTONIC; UINT64_MAX: not at all, as there are steps. */
static uint64_t detach_due(struct mpi_watcher *watcher)
{
    size_t n;

    (void)pthread_mutex_lock(&watcher->mutex);
    n = watcher->n;
    (void)pthread_mutex_unlock(&watcher->mutex);
    if (n || watcher->linger_ns == MPI_WATCHER_ALWAYS) {
        watcher->unused_ns = 0;
        return UINT64_MAX;
    }
    if (!watcher->unused_ns)
        watcher->unused_ns = clock_ns(CLOCK_MONOTONIC);
    return watcher->unused_ns + watcher->linger_ns;
}

static bool is_wanted(struct mpi_watcher *watcher)
{
    uint64_t due = detach_due(watcher);

    return due == UINT64_MAX || (watcher->finder && due > clock_ns(CLOCK_MONOTONIC));
}

/* Returns whether there may be more to do. */
static bool pass(struct mpi_watcher *watcher)
{
    bool wanted;

    do_work(watcher);
    wanted = is_wanted(watcher);
    if (has_to_load(watcher, wanted))
        load(watcher);
    update_finder(watcher, wanted);
    if (!watcher->finder)
        return false;
    (void)pthread_mutex_lock(&watcher->mutex);
    add_to_map(watcher);
    (void)pthread_mutex_unlock(&watcher->mutex);
    (void)mpi_probe_execs(watcher->mpi, mpi_finder_exec, watcher->finder, &(struct error){0});
    mpi_finder_clean(watcher->finder);
    return mpi_finder_look(watcher->finder);
}

/* Until a program is executed, a look or an attempt to load is due, or there is work. */
static void wait_for_work(struct mpi_watcher *watcher)
{
    struct pollfd polls[] = {
        {.fd = watcher->wake_fd, .events = POLLIN},
        {.fd = watcher->finder ? mpi_probe_fd(watcher->mpi) : -1, .events = POLLIN},
    };
    uint64_t due = watcher->finder ? mpi_finder_due(watcher->finder) : UINT64_MAX;
    uint64_t detach = watcher->finder ? detach_due(watcher) : UINT64_MAX;
    uint64_t load = !watcher->mpi && is_wanted(watcher) ? watcher->load_ns : UINT64_MAX;
    uint64_t now = clock_ns(CLOCK_MONOTONIC), count, ms;

    due = detach < due ? detach : due;
    due = load < due ? load : due;
    ms = due <= now ? 0 : (due - now) / NS_PER_MS + 1;
    (void)poll(polls, ARRAY_SIZE(polls), due == UINT64_MAX ? -1 : ms > 1000 ? 1000 : (int)ms);
    if (polls[0].revents)
        (void)!read(watcher->wake_fd, &count, sizeof(count));
}

static bool has_to_stop(struct mpi_watcher *watcher)
{
    bool stop;

    (void)pthread_mutex_lock(&watcher->mutex);
    stop = watcher->stop;
    (void)pthread_mutex_unlock(&watcher->mutex);
    return stop;
}

static void *run(void *arg)
{
    struct mpi_watcher *watcher = arg;

    while (!has_to_stop(watcher))
        if (!pass(watcher))
            wait_for_work(watcher);
    return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

static void wake(struct mpi_watcher *watcher)
{
    const uint64_t one = 1;

    (void)!write(watcher->wake_fd, &one, sizeof(one));
}

/* Returns false if the thread hangs, in a read from a server that does not answer. */
static bool join(struct mpi_watcher *watcher)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += JOIN_S;
    return pthread_timedjoin_np(watcher->thread, NULL, &at) == 0;
}

void mpi_watcher_destroy(struct mpi_watcher *watcher)
{
    if (!watcher)
        return;
    (void)pthread_mutex_lock(&watcher->mutex);
    watcher->stop = true;
    (void)pthread_mutex_unlock(&watcher->mutex);
    wake(watcher);
    if (watcher->started && !join(watcher))
        return;
    mpi_finder_destroy(watcher->finder);
    mpi_probe_destroy(watcher->mpi);
    for (size_t i = 0; i < watcher->n; i++)
        free(watcher->steps[i].pids);
    free(watcher->steps);
    (void)pthread_mutex_destroy(&watcher->mutex);
    cleanup_close(&watcher->wake_fd);
    free(watcher);
}

static bool start(struct mpi_watcher *watcher)
{
    sigset_t all, before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    watcher->started = pthread_create(&watcher->thread, NULL, run, watcher) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (watcher->started)
        (void)pthread_setname_np(watcher->thread, "jobiod-mpi");
    return watcher->started;
}

struct mpi_watcher *mpi_watcher_create(const struct probe *probe, uint64_t linger_ns)
{
    struct mpi_watcher *watcher = calloc(1, sizeof(*watcher));

    if (!watcher)
        return NULL;
    watcher->probe = probe;
    watcher->linger_ns = linger_ns;
    watcher->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)pthread_mutex_init(&watcher->mutex, NULL);
    if (watcher->wake_fd >= 0 && (linger_ns != MPI_WATCHER_ALWAYS || start(watcher)))
        return watcher;
    mpi_watcher_destroy(watcher);
    return NULL;
}

/* --- steps ------------------------------------------------------------------------------------ */

static bool append(struct mpi_watcher *watcher, uint32_t step)
{
    struct watched *grown = realloc(watcher->steps, (watcher->n + 1) * sizeof(*grown));

    if (!grown)
        return false;
    watcher->steps = grown;
    grown[watcher->n++] = (struct watched){.step = step};
    return true;
}

bool mpi_watcher_add(struct mpi_watcher *watcher, uint32_t step)
{
    const struct watched *watched;
    bool counted;

    (void)pthread_mutex_lock(&watcher->mutex);
    if (!find(watcher, step) && append(watcher, step) && watcher->mpi)
        add_to_map(watcher); /* now, so that no call is missed */
    watched = find(watcher, step);
    counted = watched && watched->added && watcher->finder;
    (void)pthread_mutex_unlock(&watcher->mutex);
    if (watcher->started || start(watcher))
        wake(watcher);
    return counted;
}

void mpi_watcher_remove(struct mpi_watcher *watcher, uint32_t step)
{
    struct watched *watched;

    (void)pthread_mutex_lock(&watcher->mutex);
    watched = find(watcher, step);
    if (watched)
        watched->gone = true;
    (void)pthread_mutex_unlock(&watcher->mutex);
    if (watched)
        wake(watcher);
}

bool mpi_watcher_has(struct mpi_watcher *watcher, uint32_t step)
{
    bool has;

    if (!watcher)
        return false;
    (void)pthread_mutex_lock(&watcher->mutex);
    has = find(watcher, step);
    (void)pthread_mutex_unlock(&watcher->mutex);
    return has;
}

void mpi_watcher_get_state(struct mpi_watcher *watcher, struct mpi_watcher_state *ret)
{
    *ret = (struct mpi_watcher_state){0};
    if (!watcher)
        return;
    (void)pthread_mutex_lock(&watcher->mutex);
    for (size_t i = 0; i < watcher->n; i++)
        ret->steps += !watcher->steps[i].gone;
    ret->ready = watcher->finder;
    ret->why = watcher->why;
    (void)pthread_mutex_unlock(&watcher->mutex);
}

void mpi_watcher_scan(struct mpi_watcher *watcher, uint32_t step, uint32_t *pids, size_t n,
                      bool more)
{
    struct watched *watched;

    (void)pthread_mutex_lock(&watcher->mutex);
    watched = find(watcher, step);
    if (watched) {
        free(watched->pids);
        watched->pids = pids;
        watched->n_pids = n;
        watched->more |= more;
    }
    (void)pthread_mutex_unlock(&watcher->mutex);
    if (watched)
        wake(watcher);
    else
        free(pids);
}

/* --- accounts --------------------------------------------------------------------------------- */

DEFINE_CLEANUP(struct mpi_account, mpi_account_destroy)

/* Without what only the finder knows. */
static int read_counters(const struct mpi_watcher *watcher, uint32_t step, struct mpi_account **ret)
{
    *ret = calloc(1, sizeof(**ret));
    if (!*ret)
        return -ENOMEM;
    return watcher->mpi ? mpi_probe_read(watcher->mpi, step, *ret, &(struct error){0}) : 0;
}

static int add_missing(const struct mpi_watcher *watcher, const struct watched *watched, bool read,
                       struct completeness *to)
{
    char cause[sizeof(MPI_CAUSE_LIBRARY) + sizeof(watcher->why.text)];

    if (*watcher->why.text) {
        (void)snprintf(cause, sizeof(cause), MPI_CAUSE_LIBRARY "%s", watcher->why.text);
        return completeness_add(to, cause, 1, 0);
    }
    if (read && watched && watched->added && !watched->more)
        return 0;
    return completeness_add(to, MPI_CAUSE_UNSEEN, 1, 0);
}

struct mpi_account *mpi_watcher_read(struct mpi_watcher *watcher, uint32_t step)
{
    CLEANUP(mpi_account_destroyp) struct mpi_account *account = NULL;
    bool read;
    int r;

    (void)pthread_mutex_lock(&watcher->mutex);
    read = watcher->finder &&
           mpi_finder_read(watcher->finder, step, &account, &(struct error){0}) == 0;
    r = read ? 0 : read_counters(watcher, step, &account);
    if (r != -ENOMEM)
        r = add_missing(watcher, find(watcher, step), read, &account->completeness);
    (void)pthread_mutex_unlock(&watcher->mutex);
    return r == -ENOMEM ? NULL : TAKE_PTR(account);
}
