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

/* The super block that the task's outermost call writes to; NULL if it is not known yet. */
static __always_inline struct super_block *throttle_super(const struct task_record *task,
                                                          const volatile struct hook_indexes *at)
{
    __u8 index = at->target != HOOK_NO_INDEX ? at->target
                 : at->object == OBJECT_FILE ? at->argument
                                             : HOOK_NO_INDEX;

    if (index == HOOK_NO_INDEX)
        return (struct super_block *)task->reached_sb;
    return BPF_CORE_READ(call_file(task, index), f_inode, i_sb);
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

/* The task is in no call: it has just made a page of a mapping writable. */
static __noinline int throttle_fault(struct task_record *task, struct call *call, bool timed)
{
    struct super_block *sb = (struct super_block *)task->fault.sb;
    struct account_value *value;

    call->op = IO_MMAP_WRITE;
    call->sb = sb;
    call->dev = BPF_CORE_READ(sb, s_dev);
    value = throttle_add(call);
    if (!value || timed)
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
    return throttle_fault(task, &call, stage_has(&task->fault, ctx, HOOK_do_page_mkwrite));
}

#endif
