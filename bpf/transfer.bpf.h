/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls that move data between two files in the kernel: sendfile, splice, copy_file_range, clone,
 * and core dumps, which have a target only. A transfer counts as one request on the source and one
 * on the target, each only if it is a regular file. Both get the bytes, errors and time of the
 * call, but the thread waited only once, with one stack. Transfers nest in each other and in
 * overlayfs: only the outermost counts, as in bpf/call.bpf.h.
 */
#ifndef JOBIO_BPF_TRANSFER_H
#define JOBIO_BPF_TRANSFER_H

/* Returns the source file if it is a regular file, else NULL; transfer_target() likewise. */
static __always_inline struct file *transfer_source(void *ctx,
                                                    const volatile struct hook_indexes *at)
{
    struct file *file;

    if (at->object != OBJECT_FILE)
        return NULL;
    file = (struct file *)argument_at(ctx, at->argument);
    return is_data(file) ? file : NULL;
}

static __always_inline struct file *transfer_target(void *ctx,
                                                    const volatile struct hook_indexes *at)
{
    struct file *file;

    if (at->second == HOOK_NO_INDEX)
        return NULL;
    file = (struct file *)argument_at(ctx, at->second);
    return is_data(file) ? file : NULL;
}

/* False if the kernel writes for itself: process accounting at the exit of a job's process uses the
 * same function as core dumps. */
static __always_inline bool transfer_is_own(const volatile struct hook_indexes *at, enum io_op to)
{
    return to != IO_WRITE || at->object == OBJECT_FILE ||
           TASK_READ(current_task(), flags) & PF_DUMPCORE;
}

static __always_inline int transfer_enter(void *ctx, enum hook_number hook, enum io_op to)
{
    const volatile struct hook_indexes *at = &hooks[hook];
    struct task_record *task;

    if (who_has_no_steps() || !transfer_is_own(at, to))
        return 0;
    task = task_enter();
    if (task && (transfer_source(ctx, at) || transfer_target(ctx, at)))
        call_start(task, ctx, hook, at->object == OBJECT_FILE ? at->argument : at->second, false);
    return 0;
}

/* As call_order(), but a transfer (splice) without its own offset uses that of the file. */
static __always_inline __u32 transfer_order(void *ctx, const struct file *file, __u8 index,
                                            __s64 result)
{
    if (index == HOOK_NO_INDEX || call_pointer(ctx, index))
        return call_order(ctx, file, index, result);
    return order_of(order_name(file), file->f_pos, result, file->f_flags);
}

/* Not inlined: two copies would be the larger part of each program. */
static __noinline int transfer_account(struct call *call)
{
    if (account_call(call))
        call->again = true;
    return 0;
}

static __always_inline int transfer_leave(void *ctx, enum hook_number hook, enum io_op from,
                                          enum io_op to)
{
    const volatile struct hook_indexes *at = &hooks[hook];
    struct wait before = {}, after = {};
    struct call call = {};
    struct file *file;

    if (!transfer_is_own(at, to) || !call_finish(&call, (__u64)ctx))
        return 0;
    call.result = call_result(ctx, at);
    if (call.wait)
        before = *call.wait;
    file = transfer_source(ctx, at);
    if (file) {
        call.op = from;
        call.bypassed = bypasses(file);
        if (from == IO_READ)
            call.order = transfer_order(ctx, file, at->offset, call.result);
        call_set_super(&call, file->f_inode->i_sb);
        transfer_account(&call);
    }
    if (call.wait) {
        after = *call.wait;
        *call.wait = before;
    }
    file = transfer_target(ctx, at);
    if (file) {
        call.op = to;
        if (to == IO_WRITE)
            call.order = transfer_order(ctx, file, at->target_offset, call.result);
        call_set_super(&call, file->f_inode->i_sb);
        transfer_account(&call);
    }
    if (call.wait && after.ns > call.wait->ns)
        *call.wait = after;
    return 0;
}

#endif
