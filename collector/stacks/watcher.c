/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/watcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "collector/stacks/unwinder.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Stacks of one reading: each is copied once or twice. */
#define READ_MAX 256
/* How long a process may look up the names of an ended step. */
#define ANSWER_NS (2 * NS_PER_MINUTE)
/* When another process is started after one that failed. */
#define RETRY_NS NS_PER_MINUTE

/* The events of the ring buffer, and of a step's process: its number, and which descriptor. */
#define OF_RING UINT64_MAX
#define EVENT_OF(step, output) ((uint64_t)(step) << 1 | (output))

struct watched {
    LIST_ENTRY(watched) link;
    uint32_t step;
    uid_t uid;
    struct stack_limits limits;
    struct unwinder *unwinder; /* NULL: there was no stack, or it failed */
    bool waits;                /* its input is watched for room */
    struct dying *dying;       /* owned; room for the unwinder when it is dropped */
    uint64_t retry_ns;         /* CLOCK_MONOTONIC, like the next one: start none before it */
    bool refused;              /* there are too many steps: it has no process, and why says so */
    bool ended;
    uint64_t late_ns; /* an ended step has no profile by then: its process is ended */
    struct stack_counts counts;
    struct error why; /* "": nothing failed */
    void *arg;
};

/* A process that has yet to end. */
struct dying {
    LIST_ENTRY(dying) link;
    uid_t uid;
    struct unwinder *unwinder;
};

struct stack_watcher {
    struct probe *probe;
    struct stack_limits limits;
    stack_watcher_f done;
    LIST_HEAD(, watched) steps;
    LIST_HEAD(, dying) dying;
    size_t n;
    int epoll;
};

DEFINE_CLEANUP(struct stack_watcher, stack_watcher_destroy)

static int watch(const struct stack_watcher *watcher, int fd, uint32_t events, uint64_t data)
{
    struct epoll_event event = {.events = events, .data.u64 = data};

    return epoll_ctl(watcher->epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int stack_watcher_create(struct stack_watcher **ret, struct probe *probe,
                         const struct stack_limits *limits, stack_watcher_f done,
                         struct error *error)
{
    CLEANUP(stack_watcher_destroyp) struct stack_watcher *watcher = calloc(1, sizeof(*watcher));
    int r = 0;

    if (!watcher)
        return error_errno(error, -ENOMEM, "stacks");
    watcher->probe = probe;
    watcher->limits = *limits;
    watcher->done = done;
    watcher->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (watcher->epoll < 0)
        return error_errno(error, -errno, "stacks");
    if (probe_stacks_fd(probe) >= 0)
        r = watch(watcher, probe_stacks_fd(probe), EPOLLIN, OF_RING);
    if (r < 0)
        return error_errno(error, r, "stacks");
    *ret = TAKE_PTR(watcher);
    return 0;
}

/* --- processes -------------------------------------------------------------------------------- */

static void drop_unwinder(struct stack_watcher *watcher, struct watched *watched)
{
    struct dying *dying = watched->dying;

    if (!watched->unwinder)
        return;
    dying->uid = watched->uid;
    dying->unwinder = TAKE_PTR(watched->unwinder);
    if (unwinder_destroy(dying->unwinder))
        return;
    watched->dying = NULL;
    LIST_INSERT_HEAD(&watcher->dying, dying, link);
}

static void reap(struct stack_watcher *watcher)
{
    struct dying *dying = LIST_FIRST(&watcher->dying), *next;

    for (; dying; dying = next) {
        next = LIST_NEXT(dying, link);
        if (!unwinder_destroy(dying->unwinder))
            continue;
        LIST_REMOVE(dying, link);
        free(dying);
    }
}

/* The input is edge-triggered: a process could close it, and go on. */
static int watch_unwinder(const struct stack_watcher *watcher, const struct watched *watched)
{
    int r = watch(watcher, unwinder_input(watched->unwinder), EPOLLET, EVENT_OF(watched->step, 0));

    return r < 0 ? r
                 : watch(watcher, unwinder_output(watched->unwinder), EPOLLIN,
                         EVENT_OF(watched->step, 1));
}

/* Else each stack that the process takes would wake this one. */
static void watch_input(const struct stack_watcher *watcher, struct watched *watched)
{
    bool waits = unwinder_waits(watched->unwinder);
    struct epoll_event event = {.events = EPOLLET | (waits ? EPOLLOUT : 0),
                                .data.u64 = EVENT_OF(watched->step, 0)};

    if (waits == watched->waits)
        return;
    if (unwinder_input(watched->unwinder) >= 0)
        (void)epoll_ctl(watcher->epoll, EPOLL_CTL_MOD, unwinder_input(watched->unwinder), &event);
    watched->waits = waits;
}

/* The next stack may be of another process, which has not ended or has not another user. */
static void start_unwinder(struct stack_watcher *watcher, struct watched *watched, uint32_t pid)
{
    struct error error;
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    int r = 0;

    if (watched->refused || now < watched->retry_ns)
        return;
    if (!watched->dying)
        watched->dying = calloc(1, sizeof(*watched->dying));
    if (!watched->dying)
        r = error_set(&error, -ENOMEM, "no memory for the process that unwinds stacks");
    if (r == 0)
        r = unwinder_start(&watched->unwinder, pid, watched->uid, &error);
    watched->waits = false;
    if (r == 0 && watch_unwinder(watcher, watched) < 0) {
        drop_unwinder(watcher, watched);
        r = error_set(&error, -ENOMEM, "cannot watch the process that unwinds stacks");
    }
    if (r < 0 && r != -ESRCH && r != -EPERM) {
        watched->why = error;
        watched->retry_ns = now + RETRY_NS;
    }
}

/* --- steps ------------------------------------------------------------------------------------ */

static struct watched *find(const struct stack_watcher *watcher, uint32_t step)
{
    struct watched *watched;

    LIST_FOREACH (watched, &watcher->steps, link) {
        if (watched->step == step)
            return watched;
    }
    return NULL;
}

bool stack_watcher_has(const struct stack_watcher *watcher, uint32_t step)
{
    const struct watched *watched = watcher ? find(watcher, step) : NULL;

    return watched && !watched->ended;
}

size_t stack_watcher_steps(const struct stack_watcher *watcher)
{
    return watcher ? watcher->n : 0;
}

static void remove_step(struct stack_watcher *watcher, struct watched *watched)
{
    drop_unwinder(watcher, watched);
    LIST_REMOVE(watched, link);
    watcher->n--;
    free(watched->dying);
    free(watched);
}

void stack_watcher_destroy(struct stack_watcher *watcher)
{
    if (!watcher)
        return;
    while (!LIST_EMPTY(&watcher->steps))
        remove_step(watcher, LIST_FIRST(&watcher->steps));
    reap(watcher);
    while (!LIST_EMPTY(&watcher->dying)) {
        struct dying *dying = LIST_FIRST(&watcher->dying);

        LIST_REMOVE(dying, link);
        free(dying);
    }
    cleanup_close(&watcher->epoll);
    free(watcher);
}

static int check_limits(const struct stack_watcher *watcher, uid_t uid, struct error *error)
{
    const struct watched *watched;
    const struct dying *dying;
    size_t n = 0, of_user = 0;

    LIST_FOREACH (watched, &watcher->steps, link) {
        n += !watched->refused;
        of_user += !watched->refused && watched->uid == uid;
    }
    LIST_FOREACH (dying, &watcher->dying, link) {
        n++;
        of_user += dying->uid == uid;
    }
    if (n >= STACK_WATCHER_STEPS)
        return error_set(error, -ENOSPC, "the stacks of %d steps are recorded already",
                         STACK_WATCHER_STEPS);
    if (of_user >= STACK_WATCHER_USER_STEPS)
        return error_set(error, -ENOSPC, "the stacks of %d steps of the user are recorded already",
                         STACK_WATCHER_USER_STEPS);
    return 0;
}

int stack_watcher_start(struct stack_watcher *watcher, uint32_t step, uid_t uid,
                        struct error *error)
{
    struct watched *watched = calloc(1, sizeof(*watched));
    int r;

    if (!watched)
        return error_errno(error, -ENOMEM, "stacks");
    watched->refused = check_limits(watcher, uid, &watched->why) < 0;
    watched->step = step;
    watched->uid = uid;
    watched->limits = watcher->limits;
    r = probe_stacks_start(watcher->probe, step, &watched->limits, error);
    if (r < 0) {
        free(watched);
        return r;
    }
    LIST_INSERT_HEAD(&watcher->steps, watched, link);
    watcher->n++;
    return 0;
}

/* --- profiles --------------------------------------------------------------------------------- */

static uint64_t left(uint64_t all, uint64_t without)
{
    return all > without ? all - without : 0;
}

/* All calls that are not accounted for were not unwound. */
static void add_counts(const struct watched *watched, struct stack_profile *profile)
{
    const struct stack_counts *counts = &watched->counts;
    struct stack_weight known = stack_profile_sum(profile);

    stack_weight_add(&known, &counts->unsampled);
    stack_weight_add(&known, &counts->lost);
    profile->counts = *counts;
    profile->least_ns = watched->limits.least_ns;
    profile->failed = (struct stack_weight){left(counts->all.calls, known.calls),
                                            left(counts->all.time_ns, known.time_ns)};
}

static void finish(struct stack_watcher *watcher, struct watched *watched,
                   struct stack_profile *profile)
{
    add_counts(watched, profile);
    watcher->done(profile, *watched->why.text ? watched->why.text : NULL, watched->arg);
    remove_step(watcher, watched);
}

/* The process has answered, or has failed. */
static void take(struct stack_watcher *watcher, struct watched *watched)
{
    struct stack_profile profile = {0};
    struct error error;
    int r = watched->unwinder ? unwinder_take(watched->unwinder, &profile, &error) : -EAGAIN;

    if (r == -EAGAIN)
        return;
    if (r == 0 && !watched->ended)
        r = error_set(&error, -EIO, "the process that unwinds stacks has ended");
    if (r < 0) {
        watched->why = error;
        watched->retry_ns = clock_ns(CLOCK_MONOTONIC) + RETRY_NS;
    }
    drop_unwinder(watcher, watched);
    if (watched->ended)
        finish(watcher, watched, &profile);
    else
        stack_profile_clear(&profile);
}

static void on_stack(const struct probe_stack *stack, void *arg)
{
    struct stack_watcher *watcher = arg;
    struct watched *watched = find(watcher, stack->step);

    /* No user may see the memory of another one, such as that of su(1). */
    if (!watched || watched->ended || stack->uid != watched->uid)
        return;
    if (!watched->unwinder)
        start_unwinder(watcher, watched, stack->pid);
    if (!watched->unwinder)
        return;
    (void)unwinder_send(watched->unwinder, stack); /* what it refuses is not unwound */
    watch_input(watcher, watched);
}

void stack_watcher_end(struct stack_watcher *watcher, uint32_t step, void *arg)
{
    struct watched *watched = find(watcher, step);
    struct stack_profile empty = {0};

    (void)probe_stacks(watcher->probe, PROBE_STACKS_ALL, on_stack, watcher, &watched->why);
    (void)probe_stacks_counts(watcher->probe, step, &watched->counts, &watched->why);
    probe_stacks_end(watcher->probe, step);
    watched->ended = true;
    watched->arg = arg;
    watched->late_ns = clock_ns(CLOCK_MONOTONIC) + ANSWER_NS;
    if (!watched->unwinder) {
        finish(watcher, watched, &empty);
        return;
    }
    unwinder_finish(watched->unwinder);
    watch_input(watcher, watched);
}

void stack_watcher_forget(struct stack_watcher *watcher, uint32_t step)
{
    struct watched *watched = find(watcher, step);

    probe_stacks_end(watcher->probe, step);
    if (watched)
        remove_step(watcher, watched);
}

/* --- events ----------------------------------------------------------------------------------- */

int stack_watcher_fd(const struct stack_watcher *watcher)
{
    return watcher ? watcher->epoll : -1;
}

static void on_event(struct stack_watcher *watcher, uint64_t event)
{
    struct watched *watched = event == OF_RING ? NULL : find(watcher, (uint32_t)(event >> 1));

    if (!watched || !watched->unwinder)
        return;
    if (event & 1) {
        take(watcher, watched);
        return;
    }
    if (unwinder_input(watched->unwinder) >= 0)
        (void)unwinder_flush(watched->unwinder);
    watch_input(watcher, watched);
}

/* The ended steps that should have a profile by then. */
static void end_late(struct stack_watcher *watcher, uint64_t by, const char *why)
{
    struct watched *watched = LIST_FIRST(&watcher->steps), *next;

    for (; watched; watched = next) {
        struct stack_profile empty = {0};

        next = LIST_NEXT(watched, link);
        if (!watched->ended || by < watched->late_ns)
            continue;
        (void)error_set(&watched->why, -ETIMEDOUT, "%s", why);
        finish(watcher, watched, &empty);
    }
}

void stack_watcher_stop(struct stack_watcher *watcher)
{
    if (watcher)
        end_late(watcher, UINT64_MAX, "jobiod ended before the process that unwinds stacks");
}

int stack_watcher_work(struct stack_watcher *watcher, struct error *error)
{
    struct epoll_event events[2 * STACK_WATCHER_STEPS + 1];
    int n = watcher ? epoll_wait(watcher->epoll, events, (int)ARRAY_SIZE(events), 0) : 0;
    int r;

    if (!watcher)
        return 0;
    for (int i = 0; i < n; i++)
        on_event(watcher, events[i].data.u64);
    /* Also without a step, or those of steps that have ended would wake the caller again and again.
     */
    r = probe_stacks(watcher->probe, READ_MAX, on_stack, watcher, error);
    end_late(watcher, clock_ns(CLOCK_MONOTONIC), "the process that unwinds stacks is too slow");
    reap(watcher);
    return r < 0 ? r : 0;
}
