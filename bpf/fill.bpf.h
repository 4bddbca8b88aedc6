/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The pages that a task adds to the page cache are summed up in its record, and added to the
 * counters when its call ends: a page then costs one comparison and one addition instead of a
 * lookup in a hash. bpf/cache.bpf.h finds out why they are added.
 */
#ifndef JOBIO_BPF_FILL_H
#define JOBIO_BPF_FILL_H

const volatile __u64 page_size = 4096;

/* Add the current task's pages to the counters. Not static: see bpf/who.bpf.h. */
__noinline int fill_count(void)
{
    struct task_record *task = task_find();
    __u64 where, bytes;

    if (!task)
        return 0;
    where = (__u64)account_shard(&task->who) << 48 | task->fill.dev;
    for (int kind = 0; kind < IO_FILL_COUNT; kind++) {
        bytes = task->fill.pages[kind] * page_size;
        if (!bytes)
            continue;
        account_cache(task->who.key, where, task->fill.sb, bytes, kind);
        task->fill.pages[kind] = 0;
        task->fill.fault_bytes += bytes;
    }
    task->fill.sb = task->fill.mapping = 0;
    return 0;
}

/* The same if there are any. */
static __always_inline void fill_flush(const struct task_record *task)
{
    if (task->fill.sb)
        fill_count();
}

/* The task leaves its step in mid-call, with pages that are not in the counters. The programs for
 * entries do not count them, because the verifier would then check, for each of these programs, the
 * functions that do, which are larger than the rest of it. */
static __noinline int fill_lose(struct task_record *task)
{
    __u64 pages = 0;

    if (!task->fill.sb)
        return 0;
    for (int kind = 0; kind < IO_FILL_COUNT; kind++) {
        pages += task->fill.pages[kind];
        task->fill.pages[kind] = 0;
    }
    account_lost(task->who.key, LOST_FILLS, pages * page_size);
    task->fill.sb = task->fill.mapping = 0;
    return 0;
}

/* The next pages are added to this super block for this reason (enum io_fill). typed: the super
 * block as a pointer whose members can be loaded directly, NULL if there is none. */
static __always_inline void fill_start(struct task_record *task, __u64 sb,
                                       const struct super_block *typed, __u32 kind)
{
    if (task->fill.sb != sb) {
        fill_flush(task);
        task->fill.sb = sb;
        task->fill.dev = typed ? typed->s_dev : BPF_CORE_READ((struct super_block *)sb, s_dev);
    }
    task->fill_kind = kind;
}

static __always_inline void fill_add(struct task_record *task, __u32 pages)
{
    __u32 kind = task->fill_kind;

    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("%0 &= 3" : "+r"(kind));
    task->fill.pages[kind] += pages;
}

#endif
