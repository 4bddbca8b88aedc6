/* SPDX-License-Identifier: GPL-2.0 */
/* The programs of closes for the fentry backend: see bpf/close.bpf.h. */
#ifndef JOBIO_BPF_RELEASE_H
#define JOBIO_BPF_RELEASE_H

static __always_inline void close_start(struct task_record *task, void *ctx, enum hook_number hook,
                                        __u8 argument, const struct file *file, __u64 flush_ns)
{
    if (!call_start(task, ctx, hook, argument, false))
        return;
    task->walk = 0;
    task->flush_ns = flush_ns;
    task->reached = file->f_inode->i_sb->s_dev;
    task->reached_sb = (__u64)file->f_inode->i_sb;
}

/* Fill in the call. Returns its record, NULL if its entry was not counted. Its frame may be where
 * another call of the task was, whose return was not seen. */
static __always_inline struct task_record *close_finish(struct call *call, void *ctx,
                                                        enum hook_number hook)
{
    struct task_record *task;

    if (who_has_no_steps())
        return NULL;
    task = task_find();
    if (!task || task->frame != (__u64)ctx || task->hook != hook)
        return NULL;
    call_take(call, task);
    return task;
}

/* Most file systems have nothing to flush. */
static __always_inline bool close_flushes(const struct file *file)
{
    return (file->f_op->flush || file->f_op->lock) && is_data(file) && close_has_user(file->f_mode);
}

static __always_inline int flush_enter(void *ctx, enum hook_number hook)
{
    struct file *file = (struct file *)argument_at(ctx, hooks[hook].argument);
    struct task_record *task;

    if (who_has_no_steps() || !close_flushes(file))
        return 0;
    task = task_enter();
    if (task && !mount_is_internal(file->f_path.mnt))
        close_start(task, ctx, hook, hooks[hook].argument, file, 0);
    return 0;
}

/* The task keeps the time and the file (as its witness), in case that the release is next. */
static __always_inline int flush_leave(void *ctx, enum hook_number hook)
{
    struct call call = {.op = IO_CLOSE};
    struct task_record *task = close_finish(&call, ctx, hook);

    if (!task)
        return 0;
    call.result = call_result(ctx, &hooks[hook]);
    task->flush_ns = call.time_ns;
    close_flushed(&call);
    return 0;
}

#define filp_close_enter(ctx, at) flush_enter(ctx, HOOK_filp_close)
#define filp_close_leave(ctx, at) flush_leave(ctx, HOOK_filp_close)
#define filp_flush_enter(ctx, at) flush_enter(ctx, HOOK_filp_flush)
#define filp_flush_leave(ctx, at) flush_leave(ctx, HOOK_filp_flush)

/* Returns the time of the task's last call if it was a flush of this file, else 0. */
static __always_inline __u64 close_flush_ns(const struct task_record *task, __u64 file)
{
    bool flushed = task->hook == HOOK_filp_close || task->hook == HOOK_filp_flush;

    return flushed && !task->frame && task->witness == file ? task->flush_ns : 0;
}

static __always_inline int __fput_enter(void *ctx, const volatile struct hook_indexes *at)
{
    __u64 address = argument_at(ctx, at->argument);
    struct file *file = (struct file *)address;
    struct task_record *task;
    bool opened;

    if (who_has_no_steps())
        return 0;
    opened = levels.orders && order_release_way(order_name(file));
    if (!close_has_user(file->f_mode) || !is_data(file))
        return 0;
    task = task_enter();
    if (task && (opened || !mount_is_internal(file->f_path.mnt)))
        close_start(task, ctx, HOOK___fput, at->argument, file, close_flush_ns(task, address));
    return 0;
}

static __always_inline int __fput_leave(void *ctx, const volatile struct hook_indexes *at)
{
    struct call call = {.op = IO_CLOSE};
    struct task_record *task = close_finish(&call, ctx, HOOK___fput);

    if (task)
        close_released(&call, task->flush_ns);
    return 0;
}

#endif
