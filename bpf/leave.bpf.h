/* SPDX-License-Identifier: GPL-2.0 */
/* The return of a hooked function: counts the call that bpf/call.bpf.h has started. */
#ifndef JOBIO_BPF_LEAVE_H
#define JOBIO_BPF_LEAVE_H

/* io_uring first tries an open without waiting. If that fails, one of its threads repeats the
 * open. */
static __always_inline bool call_is_trial(const struct call *call, void *ctx,
                                          const volatile struct hook_indexes *at)
{
    struct open_flags *how;

    if (call->result != -EAGAIN)
        return false;
    how = (struct open_flags *)argument_at(ctx, at->argument);
    return how->open_flag & O_NONBLOCK;
}

/* Returns an argument that points to a number, as an address; 0 if there is none. */
static __always_inline __u64 call_pointer(void *ctx, __u8 index)
{
    if (features.int_pointers)
        return argument_at(ctx, index);
    return index == HOOK_NO_INDEX ? 0 : opaque_at(ctx, index);
}

/* Returns the order of a request on one of the call's files; index: index of the pointer to its
 * offset. Without an offset (a stream, like some files of FUSE) the order is unknown. */
static __always_inline __u32 call_order(void *ctx, const struct file *file, __u8 index,
                                        __s64 result)
{
    return order_of(order_name(file), order_end(call_pointer(ctx, index)), result, file->f_flags);
}

/* Returns the offset of the end of a read or write; 0: it is unknown. */
static __always_inline __u64 call_end(void *ctx, __u8 index)
{
    __u64 end = order_end(call_pointer(ctx, index));

    return end == ORDER_NOWHERE ? 0 : end;
}

/* Returns the offset at which a read or write started. In general it follows from the end offset,
 * which is on the kernel stack; fetching it costs more than all other work on the order. For the
 * four usual system calls the start is known directly: f_pos does not change until vfs_read() or
 * vfs_write() has returned. An append does not start there. In 32-bit programs these numbers belong
 * to calls that neither read nor write. */
static __always_inline __u64 data_start(void *ctx, const struct file *file, enum hook_number hook,
                                        __s64 result)
{
    bool reads = hook == HOOK_vfs_read, writes = hook == HOOK_vfs_write;
    __u64 offset = call_pointer(ctx, USUAL_OFFSET), end;
    struct pt_regs *regs;

    if ((reads || (writes && !(file->f_flags & O_APPEND))) && features.task_regs && offset) {
        regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
        if (REGS_NUMBER(regs) == (reads ? NUMBER_PREAD : NUMBER_PWRITE))
            return REGS_FOURTH(regs);
        if (REGS_NUMBER(regs) == (reads ? NUMBER_READ : NUMBER_WRITE))
            return file->f_pos;
    }
    end = order_end(offset);
    return end == ORDER_NOWHERE ? ORDER_NOWHERE : end - result;
}

/* Fast path for the return of a read or write. It applies to nearly all calls: the entry was seen
 * in the current step, the page cache served it, the open file has a usual way for its order, and
 * the thread's last such call was on the same super block. Returns false, and changes nothing, if
 * it does not apply. */
static __always_inline bool data_leave(struct task_record *task, void *ctx, enum hook_number hook,
                                       enum io_op op)
{
    __u64 time_ns = bpf_ktime_get_ns() - task->start, name, begin;
    struct call call = {.op = op, .time_ns = time_ns, .wait = &task->wait};
    struct file *file = (struct file *)argument_at(ctx, USUAL_FILE);
    __u32 dev = file->f_inode->i_sb->s_dev;
    struct account_value *value;
    struct order_line *line;
    __u64 *last;

    call.result = argument_at(ctx, USUAL_RESULT(hook));
    if (span_is_wanted(&task->who) || stack_is_wanted(time_ns)) /* the other path reports it */
        return false;
    if (call.result < 0 || (op == IO_READ && (task->missed || bypasses(file))))
        return false;
    name = order_name(file);
    line = order_line(name);
    last = order_usual(line, name);
    if (!last)
        return false;
    value = account_hinted(hint_of(task->hints, op, dev), op, dev, account_shard(&task->who));
    if (!value)
        return false;
    begin = data_start(ctx, file, hook, call.result);
    if (begin == ORDER_NOWHERE)
        return false;
    task->frame = 0;
    fill_flush(task);
    call.order = order_step(last, begin, begin + call.result, file->f_flags & O_APPEND);
    account_add(&call, value);
    return true;
}

/* Only what programs often do has a fast path, which makes a program 330 instructions longer: for
 * all metadata calls, jobio would take a tenth longer to start. */
#define META_USUAL (1ull << IO_OPEN | 1ull << IO_STAT | 1ull << IO_READDIR | 1ull << IO_UNLINK)

/* Returns whether meta_leave() can find out all about such a call without changing anything. */
static __always_inline bool meta_is_usual(enum io_op op)
{
    return META_USUAL >> op & 1 && (op != IO_OPEN || hooks[HOOK_created].object == OBJECT_NONE);
}

/* Fast path for the return of a metadata call whose entry was seen in the current step, if the
 * thread's last such call was on the same super block. Returns false, and changes nothing, if it
 * does not apply. swaps: the program may use compare-and-swap. */
static __always_inline bool meta_leave(struct task_record *task, void *ctx,
                                       const volatile struct hook_indexes *at, enum io_op op,
                                       bool swaps)
{
    struct call call = {.op = op,
                        .time_ns = bpf_ktime_get_ns() - task->start,
                        .wait = &task->wait,
                        .dev = task->reached,
                        .sb = (struct super_block *)task->reached_sb};
    struct account_value *value, *create = NULL;
    __u32 shard = account_shard(&task->who);
    struct file *file = NULL;

    if (span_is_wanted(&task->who) || stack_is_wanted(call.time_ns) ||
        !call_find_super(&call, ctx, at))
        return false;
    call.result = call_result(ctx, at);
    if (op == IO_OPEN && call.result == -EAGAIN) /* it may be a trial */
        return false;
    value = account_hinted(hint_of(task->hints, op, call.dev), op, call.dev, shard);
    if (!value)
        return false;
    if (op == IO_OPEN && call.result >= 0)
        file = (struct file *)argument_at(ctx, at->result);
    if (file && file->f_mode & FMODE_CREATED) {
        create =
            account_hinted(hint_of(task->hints, IO_CREATE, call.dev), IO_CREATE, call.dev, shard);
        if (!create)
            return false;
    }
    call.who = task->who;
    task->frame = 0;
    fill_flush(task);
    account_add(&call, value);
    if (create)
        add(&create->requests, 1);
    if (swaps && file && levels.orders && is_data(file))
        order_open(order_name(file));
    return true;
}

/* The other path, for all calls. */
static __always_inline int call_leave_any(void *ctx, enum hook_number hook, enum io_op op,
                                          bool swaps)
{
    struct call call = {.op = op};
    struct file *file;

    if (!call_finish(&call, (__u64)ctx))
        return 0;
    if (op < IO_OP_FIRST_META && !call.wait && !call_is_data(ctx, &hooks[hook]))
        return 0;
    if (!call_find_super(&call, ctx, &hooks[hook]))
        return 0;
    call.result = call_result(ctx, &hooks[hook]);
    if (op < IO_OP_FIRST_META) {
        file = (struct file *)argument_at(ctx, hooks[hook].argument);
        call.bypassed = op == IO_READ && bypasses(file);
        call.order = call_order(ctx, file, hooks[hook].offset, call.result);
        if (span_is_wanted(&call.who))
            call.span_at = call_end(ctx, hooks[hook].offset);
    } else if (op == IO_OPEN && span_path_is_wanted(&call.who)) {
        call.span_at = span_path_of(call_pointer(ctx, hooks[hook].second));
    }
    if (op == IO_OPEN && call_is_trial(&call, ctx, &hooks[hook]))
        return 0;
    account_call(&call);
    if (op == IO_OPEN && call.result >= 0) {
        file = (struct file *)argument_at(ctx, hooks[hook].result);
        if (open_has_created(file))
            account_create(&call);
        if (swaps && levels.orders && is_data(file))
            order_open(order_name(file));
    }
    return 0;
}

/* Not inlined: all hooks share it. */
static __noinline int data_leave_any(void *ctx, enum hook_number hook, enum io_op op)
{
    return call_leave_any(ctx, hook, op, false);
}

static __always_inline int call_leave_meta(void *ctx, enum hook_number hook, enum io_op op,
                                           bool swaps)
{
    const volatile struct hook_indexes *at = &hooks[hook];
    struct task_record *task;

    if (meta_is_usual(op)) {
        if (who_has_no_steps())
            return 0;
        task = task_find();
        if (task && task->frame) {
            if ((__u64)ctx < task->frame) /* an inner call */
                return 0;
            if (task->frame == (__u64)ctx && task->plain == levels.generation &&
                meta_leave(task, ctx, at, op, swaps))
                return 0;
        } else if (task_is_outside(task)) {
            return 0;
        }
    }
    return call_leave_any(ctx, hook, op, swaps);
}

static __always_inline int call_leave(void *ctx, enum hook_number hook, enum io_op op)
{
    struct task_record *task;

    if (op >= IO_OP_FIRST_META)
        return call_leave_meta(ctx, hook, op, false);
    if (who_has_no_steps() || call_is_kernels(ctx, op))
        return 0;
    task = task_find();
    if (task && task->frame) {
        if (features.usual_calls && task->frame == (__u64)ctx && task->plain == levels.generation &&
            data_leave(task, ctx, hook, op))
            return 0;
    } else if (task_is_outside(task) || !call_is_data(ctx, &hooks[hook])) {
        return 0;
    }
    return data_leave_any(ctx, hook, op);
}

#endif
