/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Asynchronous I/O: io_uring and libaio. No thread waits in such a call, so it has no latency. It
 * may complete in any context, so its step need not be that of the current task.
 *
 * io_uring: a request holds a pointer to the task that submitted it. It is counted when its
 * completion is put into the ring, with the result that the program reads there; elsewhere the
 * kernel has only partial results. A request that was cancelled before it reached its file is not
 * counted. Opens, splices and other operations of io_uring run the functions that are hooked for
 * them, and are counted there.
 *
 * libaio: a call has no pointer to its task, so its step is kept from submission to completion.
 */
#ifndef JOBIO_BPF_ASYNC_H
#define JOBIO_BPF_ASYNC_H

/* struct kiocb (or fsync_iocb) -> the call. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_AIO);
    __type(key, __u64);
    __type(value, struct aio_record);
} aio SEC(".maps");

/* Find the step of the current task; false if it is in none. Returns early for most tasks outside
 * of jobs. */
static __always_inline bool who_find_current(struct who *who)
{
    struct task_record *task;

    if (who_is_outside())
        return false;
    task = task_find();
    if (task && who_is_valid(&task->who)) {
        *who = task->who;
        return who->shard_mask != WHO_NO_STEP;
    }
    return who_search(who);
}

/* Find the step of any task; false if it is in none. */
static __always_inline bool who_find_of(struct who *who, struct task_struct *task)
{
    struct css_set *set = BPF_CORE_READ(task, cgroups);
    __u64 key = 0;

    if (levels.v2)
        key = who_above((__u64)BPF_CORE_READ(set, dfl_cgrp), levels.v2, 0);
    if (!key && levels.v1)
        key = who_above(who_freezer(set), levels.v1, STEP_KEY_V1);
    return key && who_fill(who, key);
}

/* Fill in the super block of the file. Returns false if `data` is set and the file is not regular.
 */
static __always_inline bool async_set_super(struct call *call, struct file *file, bool data)
{
    struct inode *inode = BPF_CORE_READ(file, f_inode);
    struct super_block *sb = BPF_CORE_READ(inode, i_sb);

    if (!inode || (data && (BPF_CORE_READ(inode, i_mode) & S_IFMT) != S_IFREG))
        return false;
    call->sb = sb;
    call->dev = BPF_CORE_READ(sb, s_dev);
    return true;
}

/* Note the user of a call whose thread is not the current one, after the call was counted: that
 * creates the record of the mount. */
static __always_inline void async_note_user(const struct call *call, __u64 ids, __u64 starts)
{
    users_note(call->who.key, account_where(call, 0), ids, starts);
}

/* Opcodes of uapi/linux/io_uring.h. 60 and 61 exist since 6.15; before, they had no other meaning.
 */
static __always_inline bool io_uring_is_data(__u8 opcode, enum io_op *op)
{
    switch (opcode) {
    case 1:  /* IORING_OP_READV */
    case 4:  /* IORING_OP_READ_FIXED */
    case 22: /* IORING_OP_READ */
    case 60: /* IORING_OP_READV_FIXED */
        *op = IO_READ;
        return true;
    case 2:
    case 5:
    case 23:
    case 61:
        *op = IO_WRITE;
        return true;
    }
    return false;
}

static __always_inline struct task_struct *io_uring_task(struct io_kiocb *req)
{
    if (bpf_core_field_exists(req->task))
        return BPF_CORE_READ(req, task);
    return BPF_CORE_READ((struct io_kiocb___tctx *)req, tctx, task);
}

static __noinline int io_uring_count(__u64 address, __s32 result)
{
    struct io_kiocb *req = (struct io_kiocb *)address;
    struct task_struct *task, *current = current_task();
    struct call call = {.result = result, .async = true};
    struct file *file;
    __u32 thread;

    if (result == -ECANCELED || !io_uring_is_data(BPF_CORE_READ(req, opcode), &call.op))
        return 0;
    task = io_uring_task(req);
    if (task == current) {
        if (!who_find_current(&call.who))
            return 0;
    } else {
        if (!who_find_of(&call.who, task))
            return 0;
        call.pid = BPF_CORE_READ(task, tgid);
    }
    file = BPF_CORE_READ(req, file);
    if (async_set_super(&call, file, true)) {
        order_note_unknown(order_name_at(file));
        account_call(&call);
        if (call.pid) {
            thread = BPF_CORE_READ(task, pid);
            async_note_user(&call, (__u64)call.pid << 32 | thread, user_starts(task));
        }
    }
    return 0;
}

/* Attached only if another hook on io_uring is missing: without it, every report would be
 * incomplete for a way to do I/O that few jobs use. The thread that submits, of SQPOLL too, is in
 * the cgroup of its process. */
static __always_inline int on_io_uring_submit(void *ctx, const volatile struct hook_indexes *at)
{
    struct who who = {};

    (void)ctx;
    (void)at;
    if (!who_has_no_steps() && who_find_current(&who))
        account_lost(who.key, LOST_IO_URING, 1);
    return 0;
}

/* Returns the result that goes into the ring. */
static __always_inline __s32 io_uring_result(struct io_kiocb *req)
{
    if (bpf_core_field_exists(req->cqe))
        return BPF_CORE_READ(req, cqe.res);
    return BPF_CORE_READ((struct io_kiocb___result *)req, result);
}

/* A completion without a request (of a multishot) does not belong to a file. */
static __always_inline int on_io_uring(void *ctx, const volatile struct hook_indexes *at)
{
    struct io_kiocb *req;

    if (who_has_no_steps())
        return 0;
    req = (struct io_kiocb *)argument_at(ctx, at->argument);
    if (!req)
        return 0;
    return io_uring_count((__u64)req, at->second == HOOK_NO_INDEX
                                          ? io_uring_result(req)
                                          : (__s32)argument_at(ctx, at->second));
}

/* IOSQE_CQE_SKIP_SUCCESS: no completion is made, unless the call fails or is short (then the kernel
 * clears the flag). */
static __always_inline int io_uring_skipped(struct io_kiocb *req)
{
    if (BPF_CORE_READ(req, flags) & REQ_F_CQE_SKIP)
        return io_uring_count((__u64)req, io_uring_result(req));
    return 0;
}

/* io_read() and io_write() return 0 if the request is complete, and a negative number if the rest
 * comes later or in another thread. */
static __always_inline int on_io_uring_read(void *ctx, const volatile struct hook_indexes *at)
{
    if (who_has_no_steps() || (__s32)argument_at(ctx, at->result))
        return 0;
    return io_uring_skipped((struct io_kiocb *)argument_at(ctx, at->argument));
}

#define on_io_uring_write on_io_uring_read

/* Requests that the file system completed later. */
static __always_inline int on_io_uring_late(void *ctx, const volatile struct hook_indexes *at)
{
    return who_has_no_steps() ? 0
                              : io_uring_skipped((struct io_kiocb *)argument_at(ctx, at->argument));
}

/* The same for a ring with IORING_SETUP_IOPOLL. The kiocb is the first member of the request. A
 * request that is retried (-EAGAIN) comes here again. */
static __always_inline int on_io_uring_polled(void *ctx, const volatile struct hook_indexes *at)
{
    if (who_has_no_steps() || (__s64)argument_at(ctx, at->second) == -EAGAIN)
        return 0;
    return io_uring_skipped((struct io_kiocb *)argument_at(ctx, at->argument));
}

/* The io_ring_ctx whose overflow this CPU is handling and has counted; 0: none. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} overflow SEC(".maps");

static __always_inline int io_uring_overflows(struct io_kiocb *req)
{
    __u32 zero = 0;
    __u64 *counted = bpf_map_lookup_elem(&overflow, &zero);

    if (counted)
        *counted = (__u64)BPF_CORE_READ(req, ctx);
    return io_uring_count((__u64)req, io_uring_result(req));
}

/* If the ring is full, completions are put on a list, and the tracepoint does not see them. Until
 * 6.17 this function gets the request, unless it is inlined (6.1) ... */
static __always_inline int on_io_uring_overflow(void *ctx, const volatile struct hook_indexes *at)
{
    return who_has_no_steps()
               ? 0
               : io_uring_overflows((struct io_kiocb *)argument_at(ctx, at->argument));
}

/* ... and calls this one, which does not get the request. A spin lock is held around both. Later
 * kernels also come here from where the next function is inlined. */
static __always_inline int on_io_uring_overflow_only(void *ctx,
                                                     const volatile struct hook_indexes *at)
{
    struct who who = {};
    __u64 *counted;
    __u32 zero = 0;

    /* 5.10 has already counted the request. */
    if (who_has_no_steps() || !bpf_core_field_exists(struct io_kiocb, cqe))
        return 0;
    counted = bpf_map_lookup_elem(&overflow, &zero);
    if (!counted)
        return 0;
    if (*counted == argument_at(ctx, at->argument))
        *counted = 0;
    else if (who_find_current(&who))
        account_lost(who.key, LOST_UNSEEN, 1);
    return 0;
}

/* Later kernels call this one. The completion is inside a request, or belongs to none. */
static __always_inline int on_io_uring_overflow_cqe(void *ctx,
                                                    const volatile struct hook_indexes *at)
{
    __u64 req;

    if (who_has_no_steps() || !bpf_core_field_exists(struct io_kiocb, cqe))
        return 0;
    req = address_of((void *)argument_at(ctx, at->argument));
    req -= bpf_core_field_offset(struct io_kiocb, cqe);
    if (argument_at(ctx, at->second) != req + bpf_core_field_offset(struct io_kiocb, big_cqe))
        return 0;
    return io_uring_overflows((struct io_kiocb *)req);
}

/* On 5.10 the tracepoint has no request. A completion is made alone ... */
static __always_inline int on_io_uring_post(void *ctx, const volatile struct hook_indexes *at)
{
    if (who_has_no_steps() || at->second == HOOK_NO_INDEX)
        return 0;
    return io_uring_count(argument_at(ctx, at->second), (__s32)argument_at(ctx, at->argument));
}

/* Not static: see bpf/who.bpf.h. */
__noinline int io_uring_flushed(__u64 req)
{
    return io_uring_count(req, io_uring_result((struct io_kiocb *)req));
}

/* ... or together with others that completed in one call of io_uring_enter(2). */
static __always_inline int on_io_uring_flush(void *ctx, const volatile struct hook_indexes *at)
{
    struct io_ring_ctx *ring;
    struct io_kiocb *req;
    __u32 n;

    if (who_has_no_steps() || !bpf_core_field_exists(struct io_ring_ctx, submit_state))
        return 0;
    ring = (struct io_ring_ctx *)argument_at(ctx, at->argument);
    n = BPF_CORE_READ(ring, submit_state.compl_nr);
    for (__u32 i = 0; i < IO_COMPL_BATCH && i < n; i++) {
        bpf_core_read(&req, sizeof(req), &ring->submit_state.compl_reqs[i]);
        io_uring_flushed((__u64)req);
    }
    return 0;
}

static __always_inline void aio_submit(struct kiocb *kiocb, const struct aio_record *record)
{
    __u64 key = (__u64)kiocb;
    struct aio_record *old;

    if (!share_has_room(record->step, SHARE_AIO)) {
        account_lost(record->step, LOST_ASYNC, 1);
        return;
    }
    if (!bpf_map_update_elem(&aio, &key, record, BPF_NOEXIST)) {
        share_take(record->step, SHARE_AIO);
        return;
    }
    old = bpf_map_lookup_elem(&aio, &key);
    if (!old) {
        account_lost(record->step, LOST_ASYNC, 1);
        return;
    }
    /* The completion of an earlier call at this address was not seen. */
    account_lost(old->step, LOST_UNSEEN, 1);
    share_give(old->step, SHARE_AIO);
    share_take(record->step, SHARE_AIO);
    *old = *record;
}

static __always_inline int aio_start(void *ctx, const volatile struct hook_indexes *at,
                                     enum io_op op)
{
    struct kiocb *kiocb;
    struct aio_record record = {.op = op};
    struct who who = {};

    if (who_has_no_steps() || !who_find_current(&who))
        return 0;
    kiocb = (struct kiocb *)argument_at(ctx, at->argument);
    /* Before 5.1 the function itself looks up the file. */
    if (op < IO_OP_FIRST_META && bpf_core_field_exists(struct aio_kiocb, ki_filp) &&
        (kiocb->ki_filp->f_inode->i_mode & S_IFMT) != S_IFREG)
        return 0;
    record.step = who.key;
    record.shard_mask = who.shard_mask;
    record.traced = who.shard_mask & STEP_TRACE_BITS;
    record.ids = bpf_get_current_pid_tgid();
    record.starts = user_starts(current_task());
    aio_submit(kiocb, &record);
    return 0;
}

static __noinline int aio_end(struct kiocb *kiocb, __s64 result)
{
    __u64 key = (__u64)kiocb;
    struct aio_record *record = bpf_map_lookup_elem(&aio, &key);
    struct call call = {.result = result, .async = true};
    __u64 ids, starts;
    struct file *file;

    if (!record)
        return 0;
    call.who.key = record->step;
    call.who.shard_mask = record->shard_mask | record->traced;
    call.op = record->op;
    call.pid = record->ids >> 32;
    ids = record->ids;
    starts = record->starts;
    if (!bpf_map_delete_elem(&aio, &key))
        share_give(call.who.key, SHARE_AIO);
    file = call.op == IO_FSYNC ? BPF_CORE_READ((struct fsync_iocb *)kiocb, file)
                               : BPF_CORE_READ(kiocb, ki_filp);
    if (async_set_super(&call, file, call.op < IO_OP_FIRST_META)) {
        if (call.op < IO_OP_FIRST_META)
            order_note_unknown(order_name_at(file));
        account_call(&call);
        if (call.op < IO_OP_FIRST_META)
            async_note_user(&call, ids, starts);
    } else if (call.op == IO_FSYNC) {
        account_lost(call.who.key, LOST_REQUESTS, 1); /* 4.18 has already let go of the file */
    }
    return 0;
}

static __always_inline int on_aio_read(void *ctx, const volatile struct hook_indexes *at)
{
    return aio_start(ctx, at, IO_READ);
}

static __always_inline int on_aio_write(void *ctx, const volatile struct hook_indexes *at)
{
    return aio_start(ctx, at, IO_WRITE);
}

static __always_inline int on_aio_fsync(void *ctx, const volatile struct hook_indexes *at)
{
    return aio_start(ctx, at, IO_FSYNC);
}

/* A call that io_submit(2) refuses with an error has no completion. */
static __always_inline int on_aio_refused(void *ctx, const volatile struct hook_indexes *at)
{
    __s64 result = call_result(ctx, at);

    if (who_has_no_steps() || result >= 0)
        return 0;
    return aio_end((struct kiocb *)argument_at(ctx, at->argument), result);
}

#define on_aio_refused_read on_aio_refused
#define on_aio_refused_write on_aio_refused
#define on_aio_refused_fsync on_aio_refused

static __always_inline int on_aio_complete_rw(void *ctx, const volatile struct hook_indexes *at)
{
    if (who_has_no_steps())
        return 0;
    return aio_end((struct kiocb *)argument_at(ctx, at->argument),
                   (__s64)argument_at(ctx, at->second));
}

/* All calls end here; fsync ends nowhere else. Before 5.1 the result is an argument. */
static __always_inline int on_aio_complete(void *ctx, const volatile struct hook_indexes *at)
{
    struct aio_kiocb *call;
    struct aio_record *record;
    __u64 key;

    if (who_has_no_steps())
        return 0;
    call = (struct aio_kiocb *)argument_at(ctx, at->argument);
    key = (__u64)call;
    record = bpf_map_lookup_elem(&aio, &key);
    if (!record || record->op != IO_FSYNC)
        return 0;
    if (at->second != HOOK_NO_INDEX || !bpf_core_field_exists(call->ki_res))
        return aio_end((struct kiocb *)call, (__s64)argument_at(ctx, at->second));
    return aio_end((struct kiocb *)call, call->ki_res.res);
}

#endif
