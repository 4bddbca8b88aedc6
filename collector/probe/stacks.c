/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/probe/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "bpf/stack_records.h"
#include "collector/probe/probe_impl.h"
#include "common/cleanup.h"
#include "common/clock.h"

void stacks_set_sizes(struct data_bpf *skel)
{
    (void)bpf_map__set_max_entries(skel->maps.stacks, JOBIO_STACKS_BYTES);
    (void)bpf_map__set_max_entries(skel->maps.stack_steps, JOBIO_MAX_STEPS);
    (void)bpf_map__set_max_entries(skel->maps.stack_programs, JOBIO_STACK_PROGRAMS);
}

static int on_stack(void *arg, void *data, size_t size)
{
    struct probe *probe = arg;
    const struct stack_record *record = data;
    struct probe_stack stack;

    if (size < sizeof(*record))
        return 0;
    stack = (struct probe_stack){
        .step = record->step,
        .pid = record->pid,
        .uid = record->uid,
        .started = record->started,
        .stack_start = record->stack_start,
        .time_ns = record->time_ns,
        .comm = record->comm,
        .registers = (const uint64_t *)record->registers,
        .bytes = record->bytes,
        .from = record->registers[STACK_RSP] & -STACK_CHUNK,
        .size = record->size,
    };
    probe->new_stack(&stack, probe->new_stack_arg);
    return --probe->stacks_left ? 0 : -EAGAIN;
}

static int watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};

    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

/* The programs do not wake this process for each stack: the timer does for the last ones. */
static int watch_stacks(struct probe *probe)
{
    int r;

    probe->stack_timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (probe->stack_timer < 0)
        return -errno;
    probe->stack_events = epoll_create1(EPOLL_CLOEXEC);
    if (probe->stack_events < 0)
        return -errno;
    r = watch(probe->stack_events, probe->stack_timer);
    return r < 0 ? r : watch(probe->stack_events, ring_buffer__epoll_fd(probe->stack_ring));
}

int stacks_open(struct probe *probe, struct error *error)
{
    int r;

    probe->stack_timer = probe->stack_events = -1;
    probe->stack_ring =
        ring_buffer__new(bpf_map__fd(probe->skel->maps.stacks), on_stack, probe, NULL);
    r = probe->stack_ring ? watch_stacks(probe) : -errno;
    return r < 0 ? error_errno(error, r, "cannot open the ring buffer of stacks") : 0;
}

void stacks_close(struct probe *probe)
{
    if (!probe->stack_ring)
        return;
    ring_buffer__free(probe->stack_ring);
    cleanup_close(&probe->stack_timer);
    cleanup_close(&probe->stack_events);
}

/* --- steps ------------------------------------------------------------------------------------ */

struct numbers {
    uint32_t *items; /* owned */
    size_t n;
};

static int add_number(struct numbers *numbers, uint32_t number)
{
    uint32_t *grown = reallocarray(numbers->items, numbers->n + 1, sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    numbers->items = grown;
    grown[numbers->n++] = number;
    return 0;
}

static int list_step(const void *key, const void *value, void *arg)
{
    uint64_t id;

    (void)value;
    memcpy(&id, key, sizeof(id));
    return add_number(arg, step_number(id & ~STEP_KEY_V1, id & STEP_KEY_V1 ? 1 : 2));
}

static int list_counts(const void *key, const void *value, void *arg)
{
    uint32_t step;

    (void)value;
    memcpy(&step, key, sizeof(step));
    return add_number(arg, step);
}

static bool has(const struct numbers *numbers, uint32_t number)
{
    for (size_t i = 0; i < numbers->n; i++)
        if (numbers->items[i] == number)
            return true;
    return false;
}

int stacks_tidy(struct probe *probe, bool all, struct error *error)
{
    struct numbers steps = {0}, counts = {0};
    int r = map_each(probe, probe->skel->maps.steps, list_step, &steps, error);

    if (r == 0)
        r = map_each(probe, probe->skel->maps.stack_steps, list_counts, &counts, error);
    for (size_t i = 0; i < counts.n && r == 0; i++)
        if (all || !has(&steps, counts.items[i]))
            probe_stacks_end(probe, counts.items[i]);
    free(steps.items);
    free(counts.items);
    return r;
}

static int check(const struct probe *probe, struct error *error)
{
    if (probe->blind)
        return error_set(error, -ENOTSUP, "cannot report stacks: %.200s", probe->blind);
    if (!probe->features.task_regs)
        return error_set(error, -ENOTSUP,
                         "cannot report stacks: this kernel lacks bpf_task_pt_regs (Linux 5.15)");
    if (!probe->stack_ring && probe->directory)
        return error_set(error, -ENOTSUP,
                         "cannot report stacks: the programs were loaded without them "
                         "(stop jobiod, and run 'jobiod --detach' while no job runs)");
    if (!probe->stack_ring)
        return error_set(error, -ENOTSUP, "cannot report stacks: they were not asked for");
    return 0;
}

int probe_stacks_start(struct probe *probe, uint32_t step, struct stack_limits *limits,
                       struct error *error)
{
    struct stack_step calls = {.least_ns = limits->least_ns,
                               .interval_ns = NS_PER_S / limits->per_second};
    int r = check(probe, error);

    if (r < 0)
        return r;
    r = map_put(probe, probe->skel->maps.stack_steps, &step, &calls, BPF_NOEXIST);
    if (r == -EEXIST)
        r = map_get(probe, probe->skel->maps.stack_steps, &step, &calls);
    if (r < 0)
        return error_errno(error, r, "cannot report the stacks of the step");
    limits->least_ns = calls.least_ns;
    limits->per_second = (uint32_t)(NS_PER_S / calls.interval_ns);
    return 0;
}

void probe_stacks_end(struct probe *probe, uint32_t step)
{
    (void)map_drop(probe, probe->skel->maps.stack_steps, &step);
}

int probe_stacks_counts(const struct probe *probe, uint32_t step, struct stack_counts *ret,
                        struct error *error)
{
    struct stack_step calls;
    int r = map_get(probe, probe->skel->maps.stack_steps, &step, &calls);

    if (r < 0)
        return error_errno(error, r, "cannot read the long calls of the step");
    *ret = (struct stack_counts){
        .all = {calls.calls, calls.time_ns},
        .unsampled = {calls.unsampled_calls, calls.unsampled_ns},
        .lost = {calls.lost_calls, calls.lost_ns},
    };
    return 0;
}

int probe_stacks_fd(const struct probe *probe)
{
    return probe->stack_ring ? probe->stack_events : -1;
}

/* Look again when those that come meanwhile have waited. */
static void set_timer(const struct probe *probe)
{
    const struct itimerspec once = {.it_value = {.tv_nsec = STACK_WAKE_NS}};

    (void)timerfd_settime(probe->stack_timer, 0, &once, NULL);
}

int probe_stacks(struct probe *probe, uint32_t max, probe_stack_f each, void *arg,
                 struct error *error)
{
    uint64_t ticks;
    int r;

    if (!probe->stack_ring)
        return 0;
    (void)!read(probe->stack_timer, &ticks, sizeof(ticks));
    probe->new_stack = each;
    probe->new_stack_arg = arg;
    probe->stacks_left = max;
    r = ring_buffer__consume(probe->stack_ring);
    if (probe->stacks_left < max)
        set_timer(probe);
    if (r == -EAGAIN)
        return 1;
    return r < 0 ? error_errno(error, r, "cannot read the ring buffer of stacks") : 0;
}
