/* SPDX-License-Identifier: GPL-2.0 */
/* Writeback throttling in the fentry backend: see bpf/throttle.bpf.h. */
#ifndef JOBIO_BPF_THROTTLE_STAGE_H
#define JOBIO_BPF_THROTTLE_STAGE_H

#define NO_CALL_OP(function, ...) [HOOK_##function] = IO_OP_COUNT,
#define CALL_OP(function, op, ...) [HOOK_##function] = (op),
#define TRANSFER_OP(function, from, to, ...) [HOOK_##function] = (to),

/* The operation of a call that is throttled. */
static const __u8 throttle_ops[HOOK_COUNT] = {HOOKS(CALL_OP) EXTRAS(CALL_OP) EVENTS(NO_CALL_OP)
                                                  TRANSFERS(TRANSFER_OP) STAGES(NO_CALL_OP)};

static __always_inline int balance_dirty_pages_enter(void *ctx,
                                                     const volatile struct hook_indexes *at)
{
    struct task_record *task = cache_task();

    if (!task || task->async)
        return 0;
    task->throttle.frame = (__u64)ctx;
    task->throttle.start = bpf_ktime_get_ns();
    return 0;
}

/* The super block that the task's outermost call writes to; NULL if it is not known. */
static __always_inline struct super_block *throttle_super(const struct task_record *task,
                                                          const volatile struct hook_indexes *at)
{
    struct dentry *dentry = (struct dentry *)task->witness;
    struct path *path = (struct path *)task->witness;
    struct file *file = (struct file *)task->witness;

    if (at->target != HOOK_NO_INDEX) {
        file = call_file(task, at->target);
        return BPF_CORE_READ(file, f_inode, i_sb);
    }
    switch (at->object) {
    case OBJECT_FILE:
        return BPF_CORE_READ(file, f_inode, i_sb);
    case OBJECT_DENTRY:
        return BPF_CORE_READ(dentry, d_sb);
    case OBJECT_PATH:
        return BPF_CORE_READ(path, dentry, d_sb);
    }
    return call_is_by_path(at) || call_is_by_descriptor(at) ? (struct super_block *)task->reached_sb
                                                            : NULL;
}

/* A fault inside a call belongs to the call, as its time does. */
static __noinline int throttle_call(struct task_record *task, struct call *call)
{
    struct super_block *sb;
    __u32 hook = task->hook;

    if (hook >= HOOK_COUNT || throttle_ops[hook] == IO_OP_COUNT)
        return 0;
    sb = throttle_super(task, &hooks[hook]);
    call->op = throttle_ops[hook];
    call->sb = sb;
    call->dev = BPF_CORE_READ(sb, s_dev);
    throttle_add(call);
    return 0;
}

/* While fault_dirty_shared_page() runs, the task's fault has no start. */
static __always_inline int fault_dirty_shared_page_enter(void *ctx,
                                                         const volatile struct hook_indexes *at)
{
    struct task_record *task = cache_task();
    struct file *file;

    if (!task)
        return 0;
    file = ((struct vm_fault *)argument_at(ctx, at->argument))->vma->vm_file;
    if (!file || !is_data(file))
        return 0;
    stage_enter(task, &task->fault, ctx, at, mapped_super(file));
    task->fault_start = 0;
    return 0;
}

static __always_inline int fault_dirty_shared_page_leave(void *ctx,
                                                         const volatile struct hook_indexes *at)
{
    struct task_record *task = cache_find();

    if (task)
        stage_leave(task, &task->fault, ctx);
    return 0;
}

/* The task is in no call, but in a fault. Its time is counted when it ends, if it has a start. */
static __noinline int throttle_fault(struct task_record *task, struct call *call)
{
    struct super_block *sb = (struct super_block *)task->fault.sb;
    struct account_value *value;

    call->op = IO_MMAP_WRITE;
    call->sb = sb;
    call->dev = BPF_CORE_READ(sb, s_dev);
    value = throttle_add(call);
    if (!value || task->fault_start)
        return 0;
    wait_add(&task->wait, call->time_ns, value);
    raise_to(&value->max_ns, call->time_ns);
    account_stack(call);
    return 0;
}

static __always_inline int balance_dirty_pages_leave(void *ctx,
                                                     const volatile struct hook_indexes *at)
{
    struct task_record *task = cache_find();
    struct call call = {};

    if (!task || task->throttle.frame != (__u64)ctx)
        return 0;
    task->throttle.frame = 0;
    call.time_ns = bpf_ktime_get_ns() - task->throttle.start;
    call.who = task->who;
    call.wait = &task->wait;
    call.hints = task->hints;
    if (task->frame && call_is_inside(task, (__u64)ctx))
        return throttle_call(task, &call);
    return stage_has(&task->fault, ctx, HOOK_fault_dirty_shared_page) ? throttle_fault(task, &call)
                                                                      : 0;
}

#endif
