/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls whose files are looked up at entry, because the arguments are gone at return (kretprobe) or
 * because another thread may have closed the descriptor by then (system calls).
 */
#ifndef JOBIO_BPF_SAVED_H
#define JOBIO_BPF_SAVED_H

/* Returns the record of the task, NULL if it has none. */
static __always_inline struct saved_call *saved_find(struct task_struct *task)
{
    return bpf_task_storage_get(&saved_calls, task, NULL, 0);
}

/* Returns the record of a task that is in a step; creates it if needed. NULL if the task is in no
 * step, or on out-of-memory, which is counted as one loss of `cause`. */
static __always_inline struct saved_call *saved_enter(struct task_struct *task,
                                                      enum lost_cause cause)
{
    struct saved_call *saved = saved_find(task);
    struct who who = {};

    if (saved && who_is_valid(&saved->who))
        return saved;
    if (who_is_outside() || !who_find(&who, task))
        return NULL;
    if (!saved)
        saved = bpf_task_storage_get(&saved_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!saved) {
        account_lost(who.key, cause, 1);
        return NULL;
    }
    levels.saved = 1;
    if (saved->who.key != who.key)
        chain_start(who.key, &saved->wait);
    saved->who = who;
    __builtin_memset(saved->hints, 0, sizeof(saved->hints));
    return saved;
}

static __always_inline void saved_set_super(struct saved_file *saved, struct super_block *sb)
{
    saved->sb = sb;
    saved->dev = sb ? OBJECT_READ(sb, s_dev) : 0;
    saved->name = 0;
}

/* The file of a descriptor of the task, for bpf_probe_read only. NULL if the descriptor is closed.
 */
static __always_inline struct file *file_of_descriptor(struct task_struct *task, __u32 descriptor)
{
    struct fdtable *table = task->files->fdt;
    struct file *file = NULL;

    if (descriptor < table->max_fds)
        bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
    return file;
}

/* Not inlined: two copies would be the larger part of a program. */
static __noinline int saved_account(struct call *call)
{
    if (account_call(call))
        call->again = true;
    return 0;
}

static __always_inline __u32 saved_order(const struct saved_file *saved, __s64 result)
{
    struct file *file = saved->file;
    __u64 end;

    if (!saved->name)
        return ORDER_UNKNOWN;
    end = saved->offset || !file ? order_end(saved->offset) : (__u64)OBJECT_READ(file, f_pos);
    return order_of(saved->name, end, result, saved->flags);
}

/* Both files of a transfer get its time, but the thread waited only once, with one stack. */
static __always_inline void saved_count(struct call *call, struct saved_call *saved, enum io_op to)
{
    struct wait waited = saved->wait;

    for (int i = 0; i < 2; i++) {
        if (!saved->files[i].sb)
            continue;
        saved->wait = waited;
        if (i)
            call->op = to;
        call->sb = saved->files[i].sb;
        call->dev = saved->files[i].dev;
        call->order = saved_order(&saved->files[i], call->result);
        saved_account(call);
    }
}

/* Count an open; file: its result. NULL if it failed: then the super block in `call` counts, if
 * any. */
static __always_inline void saved_count_open(struct call *call, struct file *file)
{
    struct super_block *sb;

    if (file) {
        sb = OBJECT_READ(file, f_inode, i_sb);
        call->sb = sb;
        call->dev = OBJECT_READ(sb, s_dev);
    }
    account_call(call);
    if (file && OBJECT_READ(file, f_mode) & FMODE_CREATED)
        account_create(call);
}

#endif
