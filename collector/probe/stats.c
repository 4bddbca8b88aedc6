/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of the hooks, and the operations that are not counted. */
#include "collector/probe/probe_impl.h"

#include <string.h>

static void add_statistics(struct probe_hook *hook, const struct hook_links *links)
{
    hook->run_count = hook->run_time_ns = hook->missed = 0;
    for (int side = 0; side < SIDE_COUNT; side++) {
        struct bpf_prog_info info = {0};
        uint32_t size = sizeof(info);

        if (links->program[side] <= 0 ||
            bpf_obj_get_info_by_fd(links->program[side], &info, &size) < 0)
            continue;
        hook->run_count += info.run_cnt;
        hook->run_time_ns += info.run_time_ns;
        hook->missed += info.recursion_misses;
    }
}

/* Returns whether the system call backend counts everything that this hook would. */
static bool is_replaced(const struct probe *probe, size_t hook)
{
    return probe->syscall_hooks[0].backend != PROBE_NONE && kprobes_have(hook) &&
           !(probe->hooks[hook].ops & ~probe->syscall_hooks[0].ops);
}

/* Without task slots, a missed end of a task loses no calls; it only makes a chain of threads
 * shorter. One of two hooks is enough to see it. Submissions to io_uring are not counted by
 * themselves. */
static bool is_needless(const struct probe *probe, size_t hook)
{
    bool is_end = hook == HOOK_task_exit || hook == HOOK_task_gone;

    return (is_end && probe->by_kprobes && !probe->levels->task_slots) ||
           (hook == HOOK_task_exit && hooks_see_gone(probe)) ||
           (hook == HOOK_io_uring_submit && !io_uring_sees_submissions(probe));
}

/* The hooks that affect the counters. */
struct hook_list {
    const struct probe_hook *hooks[HOOK_COUNT + SYSCALL_HOOKS];
    const struct hook_links *links[HOOK_COUNT + SYSCALL_HOOKS];
    size_t n;
};

static void list_hooks(const struct probe *probe, struct hook_list *list)
{
    static const struct hook_links none;

    list->n = 0;
    for (size_t i = 0; i < HOOK_COUNT; i++)
        if (!is_replaced(probe, i) && !is_needless(probe, i)) {
            list->hooks[list->n] = &probe->hooks[i];
            list->links[list->n++] =
                probe->hooks[i].backend == PROBE_KPROBE ? &probe->kprobes[i] : &probe->fentry[i];
        }
    for (size_t i = 0; i < SYSCALL_HOOKS && probe->by_syscalls; i++) {
        list->hooks[list->n] = &probe->syscall_hooks[i];
        list->links[list->n++] = i ? &none : &probe->syscall_links;
    }
}

/* Kprobes and system calls do not tell the cache hooks in which call a task is. */
static bool sees_cache(const struct probe *probe)
{
    return !probe->by_kprobes && !probe->by_syscalls;
}

/* Set the operations that may be too low because of the hook's misses. Operations that are not
 * counted at all are excluded. */
static void limit_missed(const struct probe *probe, struct probe_hook *hook)
{
    if (hook->backend == PROBE_KPROBE) {
        hook->missed_ops = kprobes_ops(probe);
        return;
    }
    if (sees_cache(probe) || !hook->ops)
        return;
    hook->missed_ops = hook->ops & ~IO_CACHE;
    if (!hook->missed_ops)
        hook->missed = 0;
}

static int list_layout(struct probe *probe, const struct probe_hook **ret, size_t *n)
{
    struct hook_list list;

    *ret = probe->listed;
    *n = 0;
    if (!probe->skel)
        return 0;
    kprobes_read_missed(probe);
    list_hooks(probe, &list);
    for (size_t i = 0; i < list.n; i++) {
        probe->listed[i] = *list.hooks[i];
        add_statistics(&probe->listed[i], list.links[i]);
        probe->listed[i].missed += list.hooks[i]->missed;
        probe->listed[i].by_step =
            io_uring_is_feature(list.hooks[i]->feature) && io_uring_sees_submissions(probe);
        limit_missed(probe, &probe->listed[i]);
    }
    *n = list.n;
    return 0;
}

/* The programs of other layouts miss events of the steps that they count. */
static void add_others(struct probe *probe, size_t n)
{
    for (struct probe *other = probe->others; other; other = other->others) {
        const struct probe_hook *hooks;
        size_t n_hooks;

        (void)list_layout(other, &hooks, &n_hooks);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n_hooks; j++)
                if (!strcmp(probe->listed[i].function, hooks[j].function) &&
                    !strcmp(probe->listed[i].feature, hooks[j].feature))
                    probe->listed[i].missed += hooks[j].missed;
    }
}

int probe_hooks(struct probe *probe, const struct probe_hook **ret, size_t *n)
{
    int r = list_layout(probe, ret, n);

    if (r == 0)
        add_others(probe, *n);
    return r;
}

static uint64_t unsupported_by(const struct probe *probe)
{
    uint64_t all = (1ull << IO_SET_BITS) - 1, counted = 0, partly = 0;
    struct hook_list list;

    list_hooks(probe, &list);
    /* If one function of an operation is not hooked, the operation is not counted completely. */
    for (size_t i = 0; i < list.n; i++) {
        if (list.hooks[i]->backend != PROBE_NONE)
            counted |= list.hooks[i]->ops;
        else if (!*list.hooks[i]->feature)
            partly |= list.hooks[i]->ops;
    }
    if (!sees_cache(probe))
        counted &= ~IO_CACHE;
    return all & ~(counted & ~partly & ~probe->distrusted);
}

/* While another layout counts a step, also what that does not count. */
uint64_t probe_unsupported(const struct probe *probe)
{
    uint64_t unsupported = 0;

    if (probe->blind)
        return (1ull << IO_SET_BITS) - 1;
    for (const struct probe *p = probe; p; p = p->others)
        unsupported |= unsupported_by(p);
    return unsupported;
}

void probe_tested(struct probe *probe, uint64_t failed, uint64_t ns_per_event)
{
    probe->distrusted = failed;
    probe->ns_per_event = ns_per_event;
}

uint64_t probe_ns_per_event(const struct probe *probe)
{
    return probe->ns_per_event;
}

uint64_t probe_distrusted(const struct probe *probe)
{
    return probe->distrusted;
}
