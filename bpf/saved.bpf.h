/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls whose files are looked up at their begin, because their end does not know the arguments any
 * more (kretprobe), or because another thread may have closed the descriptor by then (system calls).
 */
#ifndef JOBIO_BPF_SAVED_H
#define JOBIO_BPF_SAVED_H

struct saved_file {
    struct super_block *sb; /* only good for bpf_probe_read; NULL: not to be counted */
    __u32 dev;
    __u32 flags;  /* of the open file */
    __u64 name;   /* order_name() of a file that is read or written; 0: its order is not known */
    __u64 offset; /* where the call has its offset; 0: nowhere */
    struct file *file; /* which has it then, only good for bpf_probe_read; NULL: it has none */
};

/* What a task remembers. */
struct saved_call {
    struct who who;
    __u64 start;      /* when the call began, ns */
    __u64 wait_ns;    /* spent in calls since it is in this step */
    union {
        const char *path;    /* of SYSCALL_AT: it must be empty */
        struct path *parent; /* of a function that finds one: where it puts it */
    };
    struct saved_file files[2];
    __u64 frame;   /* of a function: where it returns to on the stack; 0: in none */
    __u64 witness; /* what lies there */
    __u32 number;  /* of a system call, plus 1; 0: in none */
    __u16 walk;    /* as in struct task_record; files[0] has what the path has led to */
    __u16 trial;   /* an open that io_uring makes without waiting */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct saved_call);
} saved_calls SEC(".maps");

/* What the task remembers, NULL if nothing. */
static __always_inline struct saved_call *saved_find(struct task_struct *task)
{
    return bpf_task_storage_get(&saved_calls, task, NULL, 0);
}

/* The record of a task that is in a step, made if there is none. What is lost without: `cause`. */
static __always_inline struct saved_call *saved_enter(struct task_struct *task,
                                                      enum lost_cause cause)
{
    struct saved_call *saved = saved_find(task);
    struct who who = {};

    if (saved && who_holds(&saved->who))
        return saved;
    if (who_is_outside() || !who_find(&who, task))
        return NULL;
    if (!saved)
        saved = bpf_task_storage_get(&saved_calls, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!saved) {
        account_lost(who.key, cause, 1);
        return NULL;
    }
    if (saved->who.key != who.key)
        saved->wait_ns = 0;
    saved->who = who;
    return saved;
}

static __always_inline void saved_reach(struct saved_file *saved, struct super_block *sb)
{
    saved->sb = sb;
    saved->dev = sb ? BPF_CORE_READ(sb, s_dev) : 0;
    saved->name = 0;
}

/* The file of a descriptor of the current task, only good for bpf_probe_read. */
static __always_inline struct file *file_of_descriptor(struct task_struct *task, __u32 descriptor)
{
    struct fdtable *table = task->files->fdt;
    struct file *file = NULL;

    if (descriptor < table->max_fds)
        bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
    return file;
}

/* Not inlined: twice in a program it would be the larger part of it. */
static __noinline int saved_account(struct call *call)
{
    account_call(call);
    return 0;
}

static __always_inline __u32 saved_order(const struct saved_file *saved, __s64 result)
{
    struct file *file = saved->file;
    __u64 end;

    if (!saved->name)
        return ORDER_UNKNOWN;
    end = saved->offset || !file ? order_end(saved->offset) : (__u64)BPF_CORE_READ(file, f_pos);
    return order_of(saved->name, end, result, saved->flags);
}

/* Both files of a transfer have its time, but the thread waited once. */
static __always_inline void saved_count(struct call *call, struct saved_call *saved,
                                        enum io_op to)
{
    __u64 waited = saved->wait_ns;

    for (int i = 0; i < 2; i++) {
        if (!saved->files[i].sb)
            continue;
        saved->wait_ns = waited;
        if (i)
            call->op = to;
        call->sb = saved->files[i].sb;
        call->dev = saved->files[i].dev;
        call->order = saved_order(&saved->files[i], call->result);
        saved_account(call);
    }
}

/* An open: the file is its result. NULL: it failed where the call says, if anywhere. */
static __always_inline void saved_count_open(struct call *call, struct file *file)
{
    struct super_block *sb;

    if (file) {
        sb = BPF_CORE_READ(file, f_inode, i_sb);
        call->sb = sb;
        call->dev = BPF_CORE_READ(sb, s_dev);
    }
    account_call(call);
    if (file && BPF_CORE_READ(file, f_mode) & FMODE_CREATED)
        account_create(call);
}

#endif
