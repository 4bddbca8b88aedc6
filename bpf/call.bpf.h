/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call of a hooked function, from its begin to its end.
 *
 * Only the outermost hooked call of a task counts: overlayfs unlinks by vfs_unlink, an O_SYNC write
 * fsyncs, an O_TRUNC open truncates. Which call is the outermost is not kept as a depth, because a
 * counter would drift with every end that is not seen (an end is skipped when another tracer
 * attaches to the function in mid-call). Remembered is where the outermost call has its arguments:
 * the frame that the trampoline made on the kernel stack, the same for the begin and the end of a
 * call. A call further down the stack is an inner one, as long as the frame is still there.
 */
#ifndef JOBIO_BPF_CALL_H
#define JOBIO_BPF_CALL_H

/* Above any kernel stack's size. */
#define STACK_BYTES (64 * 1024)

/* What a task remembers. */
struct task_record {
    __u64 frame;   /* of the outermost call; 0: in none */
    __u64 witness; /* the argument that leads to the super block: proves that the frame is alive */
    __u64 start;   /* when it began, ns */
    __u64 wait_ns; /* spent in calls since it is in this step */
    struct who who;
    __u32 argument; /* where the witness lies in the frame */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct task_record);
} tasks SEC(".maps");

const volatile struct hook_slots hooks[HOOK_COUNT] = {};

/* An argument or the result, by its place. The place is constant for the verifier (read-only data),
 * so that it sees one load and knows the type of what it loads: no bpf_probe_read later on. */
static __always_inline __u64 slot(void *ctx, __u8 place)
{
    __u64 value;

#define SLOT(n, offset)                                                           \
    case n:                                                                       \
        asm volatile("%0 = *(u64 *)(%1 + " #offset ")" : "=r"(value) : "r"(ctx)); \
        return value
    switch (place) {
        SLOT(0, 0);
        SLOT(1, 8);
        SLOT(2, 16);
        SLOT(3, 24);
        SLOT(4, 32);
        SLOT(5, 40);
        SLOT(6, 48);
    }
#undef SLOT
    return 0;
}

/* Does the outermost call still run that we remember? If its end was not seen, something else lies
 * on the stack there by now. */
static __always_inline bool call_is_inside(const struct task_record *task, __u64 frame)
{
    __u64 witness = 0;

    if (frame >= task->frame || frame < task->frame - STACK_BYTES)
        return false;
    bpf_probe_read_kernel(&witness, sizeof(witness), (void *)task->frame + 8 * task->argument);
    return witness == task->witness;
}

/* Data is what regular files hold; pipes and sockets pass through the same functions. */
static __always_inline bool call_is_data(void *ctx, const volatile struct hook_slots *at)
{
    struct file *file = (struct file *)slot(ctx, at->argument);

    return (file->f_inode->i_mode & S_IFMT) == S_IFREG;
}

/* What the task remembers, NULL if nothing: it never was in a step. */
static __always_inline struct task_record *task_find(struct task_struct *current)
{
    if (bpf_core_field_exists(current->bpf_storage) && !current->bpf_storage)
        return NULL;
    return bpf_task_storage_get(&tasks, current, NULL, 0);
}

/* The record of a task that is in a step, made if there is none. */
static __always_inline struct task_record *task_enter(struct task_struct *current)
{
    struct task_record *task = task_find(current);
    struct who who = {};

    if (task && who_holds(&task->who))
        return task;
    if (!who_find(&who, current))
        return NULL;
    if (!task)
        task = bpf_task_storage_get(&tasks, current, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!task) { /* call_leave counts the call, without its time */
        account_lost(who.key, LOST_LATENCIES, 1);
        return NULL;
    }
    if (task->who.key != who.key)
        task->wait_ns = 0;
    task->who = who;
    return task;
}

static __always_inline int call_enter(void *ctx, enum hook_number hook, enum io_op op)
{
    struct task_record *task;

    if (!(levels.v2 | levels.v1))
        return 0;
    task = task_enter(bpf_get_current_task_btf());
    if (!task)
        return 0;
    if (op < IO_OP_FIRST_META && !call_is_data(ctx, &hooks[hook]))
        return 0;
    if (task->frame) {
        if (call_is_inside(task, (__u64)ctx))
            return 0;
        account_lost(task->who.key, LOST_ENDS, 1);
    }
    task->frame = (__u64)ctx;
    task->argument = hooks[hook].argument;
    task->witness = slot(ctx, hooks[hook].argument);
    task->start = bpf_ktime_get_ns();
    return 0;
}

/* Fill in who made the call and how long it took. False: not a step's, or an inner call. */
static __always_inline bool call_finish(struct call *call, __u64 frame)
{
    struct task_struct *current = bpf_get_current_task_btf();
    struct task_record *task;

    if (!(levels.v2 | levels.v1))
        return false;
    task = task_find(current);
    if (task && task->frame) {
        if (frame < task->frame)
            return false;
        if (frame == task->frame) {
            call->time_ns = bpf_ktime_get_ns() - task->start;
            call->wait_ns = &task->wait_ns;
            call->who = task->who;
            task->frame = 0;
            return true;
        }
        account_lost(task->who.key, LOST_ENDS, 1);
        task->frame = 0;
    }
    /* The task came into the step in mid-call, as a step's first process does: what went before is
     * not the step's time. Or there was no memory for its record, and call_enter has said so. */
    return who_find(&call->who, current);
}

static __always_inline __s64 call_result(void *ctx, const volatile struct hook_slots *at)
{
    __u64 result = slot(ctx, at->result), number;

    switch (at->returns) {
    case RETURN_INT:
        return (__s32)result;
    case RETURN_POINTER:
        if (result < -4095ull) /* not IS_ERR */
            return 0;
        /* The verifier turns no pointer into a number, a copy through memory does. */
        bpf_probe_read_kernel(&number, sizeof(number), &result);
        return number;
    }
    return result;
}

/* The file of a descriptor of the current task, only good for bpf_probe_read. */
static __always_inline struct file *file_of(unsigned long descriptor)
{
    struct fdtable *table = bpf_get_current_task_btf()->files->fdt;
    struct file *file = NULL;

    if (descriptor < table->max_fds)
        bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor);
    return file;
}

static __always_inline void call_reach(struct call *call, struct super_block *sb)
{
    call->dev = sb->s_dev;
    call->sb = sb;
}

/* Find the super block. False: the call reached none, and does not count. */
static __always_inline bool call_find_super(struct call *call, void *ctx,
                                            const volatile struct hook_slots *at)
{
    __u64 object = slot(ctx, at->argument);
    struct super_block *sb;
    struct file *file;

    switch (at->object) {
    case OBJECT_OPEN:
        object = slot(ctx, at->result);
        if (object < -4095ull) /* not IS_ERR: a failed open counts without a super block */
            call_reach(call, ((struct file *)object)->f_inode->i_sb);
        return true;
    case OBJECT_FILE:
        call_reach(call, ((struct file *)object)->f_inode->i_sb);
        return true;
    case OBJECT_PATH:
        call_reach(call, ((struct path *)object)->dentry->d_sb);
        return true;
    case OBJECT_DENTRY:
        call_reach(call, ((struct dentry *)object)->d_sb);
        return true;
    case OBJECT_RENAME:
        call_reach(call, ((struct renamedata *)object)->old_dentry->d_sb);
        return true;
    case OBJECT_REGS:
        file = file_of(REGS_FIRST((struct pt_regs *)object));
        sb = BPF_CORE_READ(file, f_inode, i_sb);
        call->dev = BPF_CORE_READ(sb, s_dev);
        call->sb = sb;
        return file;
    }
    return false;
}

static __always_inline int call_leave(void *ctx, enum hook_number hook, enum io_op op)
{
    struct call call = {.op = op};
    struct file *file;

    if (!call_finish(&call, (__u64)ctx))
        return 0;
    if (op < IO_OP_FIRST_META && !call.wait_ns && !call_is_data(ctx, &hooks[hook]))
        return 0;
    if (!call_find_super(&call, ctx, &hooks[hook]))
        return 0;
    call.result = call_result(ctx, &hooks[hook]);
    account_call(&call);
    if (op == IO_OPEN && call.dev) {
        file = (struct file *)slot(ctx, hooks[hook].result);
        if (file->f_mode & FMODE_CREATED)
            account_create(&call);
    }
    return 0;
}

#endif
