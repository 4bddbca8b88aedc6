/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A call of a hooked function, from entry to return.
 *
 * Only the outermost hooked call of a task counts: overlayfs unlinks by vfs_unlink, an O_SYNC write
 * calls fsync, an O_TRUNC open truncates. There is no depth counter, because it would drift with
 * every return that is not seen (a return is skipped if another tracer attaches to the function in
 * mid-call). Instead, the task record holds the address of the outermost call's arguments: the
 * frame that the trampoline made on the kernel stack, which is the same at entry and return. A call
 * further down the stack is an inner one, as long as that frame is live.
 */
#ifndef JOBIO_BPF_CALL_H
#define JOBIO_BPF_CALL_H

/* Larger than any kernel stack. */
#define STACK_BYTES (64 * 1024)

const volatile struct hook_indexes hooks[HOOK_COUNT] = {};

/* Returns an argument or the result by its index. The index is constant for the verifier (read-only
 * data), so it sees one load and knows the type of the value: no bpf_probe_read is needed later. */
static __always_inline __u64 argument_at(void *ctx, __u8 index)
{
    __u64 value;

#define ARGUMENT(n, offset)                                                       \
    case n:                                                                       \
        asm volatile("%0 = *(u64 *)(%1 + " #offset ")" : "=r"(value) : "r"(ctx)); \
        return value
    switch (index) {
        ARGUMENT(0, 0);
        ARGUMENT(1, 8);
        ARGUMENT(2, 16);
        ARGUMENT(3, 24);
        ARGUMENT(4, 32);
        ARGUMENT(5, 40);
        ARGUMENT(6, 48);
    }
#undef ARGUMENT
    return 0;
}

/* Returns the address in an argument that the verifier does not let a program load, as a pointer to
 * a struct that the kernel's BTF does not define. */
static __always_inline __u64 opaque_at(void *ctx, __u8 index)
{
    __u64 value = 0;

    bpf_probe_read_kernel(&value, sizeof(value), ctx + 8 * index);
    return value;
}

static __always_inline __u64 call_object(void *ctx, const volatile struct hook_indexes *at)
{
    return at->opaque ? opaque_at(ctx, at->argument) : argument_at(ctx, at->argument);
}

/* Returns whether `frame` is inside the outermost call and that call is still running. If its
 * return was not seen, the witness on the stack has usually been overwritten by now. */
static __always_inline bool is_inside(__u64 outer, __u64 witness, __u32 argument, __u64 frame)
{
    __u64 found = 0;

    if (frame >= outer || frame < outer - STACK_BYTES)
        return false;
    bpf_probe_read_kernel(&found, sizeof(found), (void *)outer + 8 * argument);
    return found == witness;
}

static __always_inline bool call_is_inside(const struct task_record *task, __u64 frame)
{
    return is_inside(task->frame, task->witness, task->argument, frame);
}

/* Only regular files hold data; pipes and sockets use the same functions. */
static __always_inline bool is_data(const struct file *file)
{
    return (file->f_inode->i_mode & S_IFMT) == S_IFREG;
}

static __always_inline bool call_is_data(void *ctx, const volatile struct hook_indexes *at)
{
    return is_data((struct file *)argument_at(ctx, at->argument));
}

/* Reads of this file bypass the page cache, which then neither hits nor misses. */
static __always_inline bool bypasses(const struct file *file)
{
    return file->f_flags & O_DIRECT;
}

/* Remember that the task is in no step. A task outside of jobs whose cgroup is as deep as a step
 * then costs a lookup in `steps` only once. */
static __always_inline void task_stay_outside(struct task_record *task, __u32 generation,
                                              __u64 cgroup)
{
    if (levels.v1) /* the v2 cgroup does not show a change of the v1 cgroup */
        return;
    if (!task)
        task = task_take_slot(current_task());
    if (!task || task->frame)
        return;
    fill_lose(task);
    task->who.key = 0;
    task->who.cgroup = cgroup;
    task->who.shard_mask = WHO_NO_STEP;
    task->plain = 0;
    task->who.generation = generation;
}

/* Not inlined: it runs once per task and change of the set of steps. */
static __noinline struct task_record *task_join(struct task_record *task)
{
    struct task_struct *current = current_task();
    __u32 generation = levels.generation;
    __u64 cgroup = bpf_get_current_cgroup_id(); /* before the search, as in who_find() */
    struct who who = {};

    if (!who_find(&who, current)) {
        task_stay_outside(task, generation, cgroup);
        return NULL;
    }
    if (!task)
        task = task_make(current);
    if (!task) { /* call_leave counts the call, without its time */
        account_lost(who.key, LOST_LATENCIES, 1);
        return NULL;
    }
    if (task->who.key != who.key) {
        fill_lose(task);
        chain_start(who.key, &task->wait);
    }
    task->who = who;
    task->async = !!(TASK_READ(current, flags) & PF_IO_WORKER);
    task->plain = task->async ? 0 : who.generation;
    __builtin_memset(task->hints, 0, sizeof(task->hints));
    return task;
}

/* task_enter() for the result of task_find(). */
static __always_inline struct task_record *task_enter_as(struct task_record *task)
{
    if (task && who_is_valid(&task->who))
        return task->who.shard_mask == WHO_NO_STEP ? NULL : task;
    return who_is_outside() ? NULL : task_join(task);
}

/* Returns the record of the current task if it is in a step, else NULL; creates it if needed. */
static __always_inline struct task_record *task_enter(void)
{
    return task_enter_as(task_find());
}

/* The return of the task's outermost call was not seen. Its pages are added to the counters when
 * the task's next call ends. */
static __always_inline void call_end_lost(struct task_record *task)
{
    account_lost(task->who.key, LOST_ENDS, 1);
    task->frame = 0;
    task->fill.mapping = 0;
}

/* Note the entry of the outermost call; `argument` is the index of its witness, and `opaque` as in
 * struct hook_indexes. Returns false if the call is an inner one. */
static __always_inline bool call_start(struct task_record *task, void *ctx, enum hook_number hook,
                                       __u8 argument, bool opaque)
{
    if (task->frame) {
        if (call_is_inside(task, (__u64)ctx))
            return false;
        call_end_lost(task);
    }
    task->frame = (__u64)ctx;
    task->missed = 0;
    task->hook = hook;
    task->argument = argument;
    task->witness = opaque ? opaque_at(ctx, argument) : argument_at(ctx, argument);
    task->start = bpf_ktime_get_ns();
    return true;
}

/* who_find() for the current task. Not inlined: it is rarely needed at the return of a call. */
static __noinline int who_search(struct who *who)
{
    return who_find(who, current_task());
}

/* Returns true if the record says that the current task is in no step. */
static __always_inline bool task_was_outside(const struct task_record *task)
{
    return task->who.shard_mask == WHO_NO_STEP && who_is_valid(&task->who);
}

/* Returns true if the current task is known to be in no step. */
static __always_inline bool task_is_outside(const struct task_record *task)
{
    return (task && task_was_outside(task)) || who_is_outside();
}

/* End the task's outermost call: fill in the caller and the duration. */
static __always_inline void call_take(struct call *call, struct task_record *task)
{
    call->time_ns = bpf_ktime_get_ns() - task->start;
    call->async = task->async;
    call->wait = &task->wait;
    call->who = task->who;
    call->missed = task->missed;
    call->dev = task->reached;
    call->sb = (struct super_block *)task->reached_sb;
    call->hints = task->hints;
    task->frame = 0;
    fill_flush(task);
}

/* Fill in the caller and the duration. Returns false if the task is in no step, or if the call is
 * an inner one. */
static __always_inline bool call_finish(struct call *call, __u64 frame)
{
    struct who who = {}; /* the verifier of EL 8 forgets that who_search() has filled it in */
    struct task_record *task;

    if (who_has_no_steps())
        return false;
    task = task_find();
    if (task && task->frame) {
        if (frame < task->frame)
            return false;
        if (frame == task->frame) {
            call_take(call, task);
            return true;
        }
        call_end_lost(task);
    }
    /* The task joined the step in mid-call, as a step's first process does: the time before is not
     * the step's. Or there was no memory for its record, and task_join() has counted the loss. */
    if (task_is_outside(task) || !who_search(&who))
        return false;
    call->who = who;
    return true;
}

static __always_inline __s64 call_result(void *ctx, const volatile struct hook_indexes *at)
{
    __u64 result = argument_at(ctx, at->result);

    switch (at->returns) {
    case RETURN_INT:
        return (__s32)result;
    case RETURN_POINTER:
        if (result < -4095ull) /* not IS_ERR */
            return 0;
        return address_of((void *)result);
    }
    return result;
}

/* The file of a descriptor of the current task, only for bpf_probe_read; NULL if it is closed. */
static __always_inline struct file *file_of(unsigned long descriptor)
{
    struct fdtable *table = TASK_READ(current_task(), files, fdt);
    struct file *file = NULL;

    if (descriptor < TASK_READ(table, max_fds))
        bpf_probe_read_kernel(&file, sizeof(file), TASK_READ(table, fd) + descriptor);
    return file;
}

static __always_inline void call_set_super(struct call *call, struct super_block *sb)
{
    call->dev = sb->s_dev;
    call->sb = sb;
}

/* An inner function reports the super block of the outermost call, if that call is of this hook. */
static __always_inline int call_report_super(enum hook_number outer, struct dentry *dentry)
{
    struct task_record *task;

    if (who_has_no_steps())
        return 0;
    task = task_find();
    if (task && task->frame && task->hook == outer)
        task->reported = (__u64)dentry->d_sb;
    return 0;
}

#define on_rmdir_told(ctx, at) \
    call_report_super(HOOK_do_rmdir, (struct dentry *)argument_at(ctx, (at)->argument))

static __always_inline struct super_block *call_take_reported(void)
{
    struct task_record *task = task_find();
    struct super_block *sb;

    if (!task)
        return NULL;
    sb = (struct super_block *)task->reported;
    task->reported = 0;
    return sb;
}

/* Before 4.19 an open file does not tell whether the call has created it. ima_file_check(), which
 * is called for all opens, gets a flag instead. */
static __always_inline int on_created(void *ctx, const volatile struct hook_indexes *at)
{
    struct task_record *task;

    if (who_has_no_steps() || !((__u32)argument_at(ctx, at->argument) & FILE_CREATED))
        return 0;
    task = task_find();
    if (task && task->frame && task->hook == HOOK_do_filp_open)
        task->reported = 1;
    return 0;
}

static __always_inline bool open_has_created(const struct file *file)
{
    if (hooks[HOOK_created].object != OBJECT_NONE)
        return call_take_reported();
    return file->f_mode & FMODE_CREATED;
}

static __always_inline __u32 call_descriptor(__u64 object, const volatile struct hook_indexes *at)
{
    struct pt_regs *regs = (struct pt_regs *)object;

    switch (at->object) {
    case OBJECT_REGS:
        return at->opaque ? BPF_CORE_READ(regs, REGS_FIRST_MEMBER) : REGS_FIRST(regs);
    case OBJECT_REGS_32:
        return at->opaque ? BPF_CORE_READ(regs, REGS_FIRST_32_MEMBER) : REGS_FIRST_32(regs);
    }
    return object;
}

/* Fill in the super block. Returns false if the call reached none and does not count. */
static __always_inline bool call_find_super(struct call *call, void *ctx,
                                            const volatile struct hook_indexes *at)
{
    __u64 object = call_object(ctx, at);
    struct super_block *sb;
    struct file *file;

    switch (at->object) {
    case OBJECT_WALK: /* call_finish() took it from the walk */
        return true;
    case OBJECT_OPEN:
        object = argument_at(ctx, at->result);
        if (object < -4095ull) /* not IS_ERR */
            call_set_super(call, ((struct file *)object)->f_inode->i_sb);
        return true;
    case OBJECT_FILE:
        call_set_super(call, ((struct file *)object)->f_inode->i_sb);
        return true;
    case OBJECT_PATH:
        call_set_super(call, ((struct path *)object)->dentry->d_sb);
        return true;
    case OBJECT_DENTRY:
        call_set_super(call, ((struct dentry *)object)->d_sb);
        return true;
    case OBJECT_RENAME:
        call_set_super(call, ((struct renamedata *)object)->old_dentry->d_sb);
        return true;
    case OBJECT_FOUND:
    case OBJECT_REPORTED:
        sb = call_take_reported();
        if (at->object == OBJECT_FOUND && !lookup_has_started(call_result(ctx, at)))
            return true;
        if (sb) { /* else it failed where its walk ended */
            call->dev = BPF_CORE_READ(sb, s_dev);
            call->sb = sb;
        }
        return true;
    case OBJECT_FD:
    case OBJECT_REGS:
    case OBJECT_REGS_32:
        if (call->wait) /* call_walk() looked at entry: another thread may close or reuse it */
            return call->sb;
        file = file_of(call_descriptor(object, at));
        sb = BPF_CORE_READ(file, f_inode, i_sb);
        call->dev = BPF_CORE_READ(sb, s_dev);
        call->sb = sb;
        return file;
    }
    return false;
}

/* Returns true if the path is not walked yet at entry. */
static __always_inline bool call_is_by_path(const volatile struct hook_indexes *at)
{
    return at->object == OBJECT_OPEN || at->object == OBJECT_WALK || at->object == OBJECT_FOUND ||
           at->object == OBJECT_REPORTED;
}

static __always_inline bool call_is_by_descriptor(const volatile struct hook_indexes *at)
{
    return at->object == OBJECT_FD || at->object == OBJECT_REGS || at->object == OBJECT_REGS_32;
}

/* Start a call by path or descriptor, or take the super block from the inner call that does the
 * operation once the path has been walked. */
static __always_inline void call_walk(struct task_record *task, void *ctx, bool outermost,
                                      const volatile struct hook_indexes *at, enum io_op op)
{
    struct call inner = {};

    if (call_is_by_path(at)) {
        if (!outermost)
            return;
        task->walk = op;
        task->reported = 0;
        task->reached = 0;
        task->reached_sb = 0;
    } else if (outermost ? call_is_by_descriptor(at) : task->walk == op) {
        (void)call_find_super(&inner, ctx, at);
        task->walk = 0;
        task->reached = inner.dev;
        task->reached_sb = (__u64)inner.sb;
    }
}

/* The kernel itself reads the head of a program in execve(2), for example; its buffer is not in
 * user space. The second argument is the buffer, or the array of buffers. */
static __always_inline bool call_is_kernels(void *ctx, enum io_op op)
{
    return features.own_buffers && op < IO_OP_FIRST_META && (__s64)argument_at(ctx, 1) < 0;
}

static __always_inline int call_enter(void *ctx, enum hook_number hook, enum io_op op)
{
    struct task_record *task;
    bool outermost;
    __u8 argument;

    if (who_has_no_steps() || call_is_kernels(ctx, op))
        return 0;
    task = task_enter();
    if (!task)
        return 0;
    argument = op < IO_OP_FIRST_META && features.usual_calls ? USUAL_FILE : hooks[hook].argument;
    if (op < IO_OP_FIRST_META && !is_data((struct file *)argument_at(ctx, argument)))
        return 0;
    outermost = call_start(task, ctx, hook, argument, op >= IO_OP_FIRST_META && hooks[hook].opaque);
    if (op >= IO_OP_FIRST_META)
        call_walk(task, ctx, outermost, &hooks[hook], op);
    return 0;
}

#endif
