/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kprobe backend: the functions of bpf/hooks.h, read through the registers. A kretprobe does
 * not see the arguments, so everything is looked up at entry. As in bpf/call.bpf.h, only the
 * outermost hooked call of a task counts. It is identified by the stack address of its return
 * address. While the call runs, that address holds the same value as at entry, or the address of
 * the kretprobe trampoline. Calls by path find their super block as in bpf/walk.bpf.h.
 */
#ifndef JOBIO_BPF_KPROBES_H
#define JOBIO_BPF_KPROBES_H

/* Larger than any kernel stack. */
#define STACK_BYTES (64 * 1024)

const volatile struct kprobe_entry kprobe_table[KPROBE_ENTRIES] = {};

static __always_inline const volatile struct kprobe_entry *kprobe_entry(__u64 cookie)
{
    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("%0 &= 127" : "+r"(cookie));
    return &kprobe_table[cookie];
}

/* The trampoline address that kretprobes put on the stack, taken from the first one that returns.
 */
__u64 kprobe_trampoline SEC(".data.kprobes") = 0;

/* Without the barrier, the compiler makes one load with a computed offset, which the verifier
 * refuses. */
#define ARGUMENT(index, name)           \
    case index:                         \
        value = KERNEL_##name(regs);    \
        asm volatile("" : "+r"(value)); \
        break

static __always_inline __u64 argument_at(struct pt_regs *regs, __u8 index)
{
    __u64 value = 0;

    switch (index) {
        ARGUMENT(0, FIRST);
        ARGUMENT(1, SECOND);
        ARGUMENT(2, THIRD);
        ARGUMENT(3, FOURTH);
        ARGUMENT(4, FIFTH);
        ARGUMENT(5, SIXTH);
    }
    return value;
}

/* Returns the return address of the function on the stack; 0 if the architecture does not keep it
 * there. */
static __always_inline __u64 kprobe_witness(__u64 frame)
{
    __u64 witness = 0;

    if (RETURN_BYTES)
        bpf_probe_read_kernel(&witness, sizeof(witness), (void *)frame - sizeof(witness));
    return witness;
}

/* Returns whether the remembered outermost call is still running and this call is inside it. */
static __always_inline bool kprobe_is_inside(const struct saved_call *saved, __u64 frame)
{
    __u64 witness;

    if (frame >= saved->frame || frame < saved->frame - STACK_BYTES)
        return false;
    witness = kprobe_witness(saved->frame);
    return witness == saved->witness || witness == kprobe_trampoline;
}

static __always_inline bool kprobe_takes(struct inode *inode, enum io_op op)
{
    return op >= IO_OP_FIRST_META || (OBJECT_READ(inode, i_mode) & S_IFMT) == S_IFREG;
}

/* Returns the super block that an argument leads to, NULL if there is none or it is not counted. */
static __always_inline struct super_block *kprobe_super(__u64 object, __u8 kind, enum io_op op)
{
    struct renamedata *rename = (struct renamedata *)object;
    struct dentry *dentry = (struct dentry *)object;
    struct path *path = (struct path *)object;
    struct file *file = (struct file *)object;
    struct pt_regs *regs = (struct pt_regs *)object;
    struct inode *inode;
    __u32 descriptor;

    switch (kind) {
    case OBJECT_FD:
    case OBJECT_REGS:
    case OBJECT_REGS_32:
        descriptor = kind == OBJECT_FD     ? object
                     : kind == OBJECT_REGS ? BPF_CORE_READ(regs, REGS_FIRST_MEMBER)
                                           : BPF_CORE_READ(regs, REGS_FIRST_32_MEMBER);
        file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
        return file ? OBJECT_READ(file, f_inode, i_sb) : NULL;
    case OBJECT_FILE:
        inode = OBJECT_READ(file, f_inode);
        return kprobe_takes(inode, op) ? OBJECT_READ(inode, i_sb) : NULL;
    case OBJECT_PATH:
        return OBJECT_READ(path, dentry, d_sb);
    case OBJECT_DENTRY:
        return OBJECT_READ(dentry, d_sb);
    case OBJECT_RENAME:
        return OBJECT_READ(rename, old_dentry, d_sb);
    }
    return NULL;
}

/* Returns true if the path is not walked yet at entry. */
static __always_inline bool kprobe_is_by_path(const volatile struct hook_indexes *at)
{
    return at->object == OBJECT_OPEN || at->object == OBJECT_WALK || at->object == OBJECT_FOUND ||
           at->object == OBJECT_REPORTED;
}

/* Start a call by path. call_is_trial() reads the arguments at return; a kretprobe cannot. */
static __always_inline void kprobe_start_walk(struct pt_regs *regs, struct saved_call *saved,
                                              const volatile struct hook_indexes *at, enum io_op op)
{
    struct open_flags *how = (struct open_flags *)argument_at(regs, at->argument);

    saved->walk = op;
    saved->parent = NULL;
    saved->trial = at->object == OBJECT_OPEN && OBJECT_READ(how, open_flag) & O_NONBLOCK;
    saved->path_at = at->object == OBJECT_OPEN && span_path_is_wanted(&saved->who)
                         ? span_path_of(argument_at(regs, at->second))
                         : 0;
}

/* Take the super block from the inner call that does the operation once the path has been walked.
 */
static __always_inline void kprobe_finish_walk(struct pt_regs *regs, struct saved_call *saved,
                                               const volatile struct hook_indexes *at,
                                               enum io_op op)
{
    if (!saved->walk || saved->walk != op ||
        kprobe_is_by_path(at)) /* walk 0: none, but op may be 0, a read */
        return;
    saved_set_super(&saved->files[0],
                    kprobe_super(argument_at(regs, at->argument), at->object, op));
    saved->walk = 0;
}

/* The constant that order_name_at() subtracts, cached to save a helper call. */
__u64 order_base SEC(".data.kprobes") = 0;

static __always_inline __u64 kprobe_name(__u64 file)
{
    if (!order_base)
        order_base = -order_name_at(NULL);
    return file - order_base;
}

/* Save what the return of a read or write needs to find its order. If there is no offset argument,
 * only a transfer (splice) uses that of the file. */
static __always_inline void kprobe_save_order(struct pt_regs *regs, struct saved_file *saved,
                                              __u8 index, __u8 offset, enum io_op op,
                                              bool transfers)
{
    struct file *file = (struct file *)argument_at(regs, index);

    if ((op != IO_READ && op != IO_WRITE) || offset == HOOK_NO_INDEX)
        return;
    saved->name = kprobe_name((__u64)file);
    saved->file = transfers ? file : NULL;
    saved->flags = OBJECT_READ(file, f_flags);
    saved->offset = argument_at(regs, offset);
}

/* A release takes the time of its flush, if no other file was closed between them. */
static __always_inline void kprobe_note_file(struct saved_call *saved, __u64 file)
{
    if (saved->closed == file)
        return;
    saved->closed = file;
    saved->flush_ns = 0;
}

/* Look up the files of a call. to: the operation on the second file; IO_OP_COUNT: none. Returns
 * whether there is something to count. */
static __always_inline bool kprobe_find_files(struct pt_regs *regs, struct saved_call *saved,
                                              const volatile struct hook_indexes *at, enum io_op op,
                                              enum io_op to)
{
    struct super_block *sb;

    saved_set_super(&saved->files[0], NULL);
    saved->files[1].sb = NULL;
    saved->walk = 0;
    if (kprobe_is_by_path(at)) {
        kprobe_start_walk(regs, saved, at, op);
        return true;
    }
    sb = kprobe_super(argument_at(regs, at->argument), at->object, op);
    if (op == IO_CLOSE)
        kprobe_note_file(saved, argument_at(regs, at->argument));
    if (sb) {
        saved_set_super(&saved->files[0], sb);
        kprobe_save_order(regs, &saved->files[0], at->argument, at->offset, op, to != IO_OP_COUNT);
    }
    if (to == IO_OP_COUNT || at->second == HOOK_NO_INDEX)
        return sb;
    sb = kprobe_super(argument_at(regs, at->second), OBJECT_FILE, to);
    if (sb) {
        saved_set_super(&saved->files[1], sb);
        kprobe_save_order(regs, &saved->files[1], at->second, at->target_offset, to, true);
    }
    return saved->files[0].sb || sb;
}

/* As transfer_is_own() in bpf/transfer.bpf.h. */
static __always_inline bool kprobe_is_own(const volatile struct hook_indexes *at, enum io_op to)
{
    return to != IO_WRITE || at->object == OBJECT_FILE ||
           bpf_get_current_task_btf()->flags & PF_DUMPCORE;
}

/* Returns whether the call is counted at its return. The following functions for entries also
 * return whether the return is needed. */
static __always_inline bool kprobe_enter_call(struct pt_regs *regs,
                                              const volatile struct kprobe_entry *entry)
{
    const volatile struct hook_indexes *at = &entry->at;
    enum io_op op = entry->op, to = entry->to;
    __u64 frame = KERNEL_STACK(regs) + RETURN_BYTES;
    struct saved_call *saved;

    if (!kprobe_is_own(at, to))
        return false;
    saved = saved_enter(bpf_get_current_task_btf(), LOST_REQUESTS);
    if (!saved)
        return false;
    if (saved->frame) {
        if (kprobe_is_inside(saved, frame)) {
            kprobe_finish_walk(regs, saved, at, op);
            return false;
        }
        account_lost(saved->who.key, LOST_ENDS, 1);
        saved->frame = 0;
    }
    if (!kprobe_find_files(regs, saved, at, op, to))
        return false;
    saved->frame = frame;
    saved->witness = kprobe_witness(frame);
    saved->target = to != IO_OP_COUNT;
    saved->written = saved->target ? to : op;
    saved->start = bpf_ktime_get_ns();
    return true;
}

static __always_inline __s64 kprobe_result(__u64 result, __u8 returns)
{
    switch (returns) {
    case RETURN_INT:
        return (__s32)result;
    case RETURN_POINTER:
        return result < -4095ull ? 0 : result; /* IS_ERR */
    }
    return result;
}

/* Returns whether the walk of a lookup found files[1], instead of ending at files[0]. */
static __always_inline bool kprobe_has_found(const struct call *call,
                                             const struct saved_call *saved,
                                             const volatile struct kprobe_entry *entry)
{
    return entry->at.object == OBJECT_FOUND && saved->files[1].sb &&
           lookup_has_started(call->result);
}

static __always_inline void kprobe_count(struct call *call, struct saved_call *saved,
                                         const volatile struct kprobe_entry *entry, __u64 result)
{
    if (!kprobe_is_by_path(&entry->at)) {
        saved_count(call, saved, entry->to);
        return;
    }
    if (kprobe_has_found(call, saved, entry))
        saved->files[0] = saved->files[1];
    call->sb = saved->files[0].sb;
    call->dev = saved->files[0].dev;
    if (entry->at.object == OBJECT_OPEN)
        call->span_at = saved->path_at;
    if (entry->at.object != OBJECT_OPEN)
        saved_account(call);
    else if (call->result != -EAGAIN || !saved->trial)
        saved_count_open(call, call->result < 0 ? NULL : (struct file *)result);
}

/* Count a flush or a release; flush_ns is that of the same file. */
static __always_inline void kprobe_count_close(struct call *call, struct saved_call *saved,
                                               __u8 role)
{
    call->sb = saved->files[0].sb;
    call->dev = saved->files[0].dev;
    if (role == KPROBE_FLUSH) {
        saved->flush_ns = call->time_ns;
        close_flushed(call);
        return;
    }
    close_released(call, saved->flush_ns);
    saved->closed = 0;
}

/* A call that started before its task joined the step is not counted: its arguments are gone. */
static __always_inline int kprobe_leave_call(struct pt_regs *regs,
                                             const volatile struct kprobe_entry *entry)
{
    __u64 frame = KERNEL_STACK(regs), result = KERNEL_RESULT(regs), witness;
    struct call call = {.op = entry->op};
    struct saved_call *saved;

    saved = saved_find(bpf_get_current_task_btf());
    if (!saved || !saved->frame || frame < saved->frame)
        return 0;
    call.who = saved->who;
    if (frame > saved->frame) {
        saved->frame = 0;
        return account_lost(call.who.key, LOST_ENDS, 1);
    }
    witness = kprobe_witness(frame);
    if (witness != kprobe_trampoline)
        kprobe_trampoline = witness;
    saved->frame = 0;
    call.time_ns = bpf_ktime_get_ns() - saved->start;
    call.async = bpf_get_current_task_btf()->flags & PF_IO_WORKER;
    call.wait = &saved->wait;
    call.hints = saved->hints;
    call.result = kprobe_result(result, entry->at.returns);
    if (entry->role == KPROBE_CALL)
        kprobe_count(&call, saved, entry, result);
    else
        kprobe_count_close(&call, saved, entry->role);
    return 0;
}

/* --- paths: see bpf/walk.bpf.h ---------------------------------------------------------------- */

static __always_inline struct saved_call *kprobe_walk(void)
{
    struct saved_call *saved = saved_find(bpf_get_current_task_btf());

    return saved && saved->frame && saved->walk ? saved : NULL;
}

static __always_inline bool kprobe_walked(struct pt_regs *regs,
                                          const volatile struct kprobe_entry *entry)
{
    struct nameidata *nd = (struct nameidata *)argument_at(regs, entry->at.argument);
    struct saved_call *saved = kprobe_walk();
    struct dentry *found;

    if (!saved)
        return false;
    found = OBJECT_READ(nd, path.dentry);
    if (saved->walk == IO_LOOKUP)
        saved_set_super(&saved->files[1], found ? NULL : lookup_found(nd));
    if (found)
        saved_set_super(&saved->files[0], OBJECT_READ(found, d_sb));
    return false;
}

static __always_inline bool kprobe_seek_parent(struct pt_regs *regs,
                                               const volatile struct kprobe_entry *entry)
{
    struct saved_call *saved = kprobe_walk();

    if (saved)
        saved->parent = (struct path *)argument_at(regs, entry->at.argument);
    return saved;
}

static __always_inline int kprobe_found_parent(struct pt_regs *regs)
{
    struct saved_call *saved = kprobe_walk();
    struct path *parent = saved ? saved->parent : NULL;

    if (parent && (__s32)KERNEL_RESULT(regs) >= 0)
        saved_set_super(&saved->files[0], OBJECT_READ(parent, dentry, d_sb));
    return 0;
}

/* --- closes: see bpf/close.bpf.h -------------------------------------------------------------- */

static __always_inline bool kprobe_closes(struct file *file, __u8 role)
{
    const struct file_operations *ops = OBJECT_READ(file, f_op);

    if (!close_has_user(OBJECT_READ(file, f_mode)) ||
        !kprobe_takes(OBJECT_READ(file, f_inode), IO_READ))
        return false;
    return role == KPROBE_RELEASE || OBJECT_READ(ops, flush) || OBJECT_READ(ops, lock);
}

static __always_inline bool kprobe_enter_close(struct pt_regs *regs,
                                               const volatile struct kprobe_entry *entry)
{
    struct file *file = (struct file *)argument_at(regs, entry->at.argument);

    if (entry->role == KPROBE_RELEASE && levels.orders)
        order_release_way(kprobe_name((__u64)file));
    if (!kprobe_closes(file, entry->role) || mount_is_internal(OBJECT_READ(file, f_path.mnt)))
        return false;
    return kprobe_enter_call(regs, entry);
}

/* --- writeback: see bpf/throttle.bpf.h -------------------------------------------------------- */

static __always_inline bool kprobe_enter_throttle(void)
{
    struct task_struct *current = bpf_get_current_task_btf();
    struct saved_call *saved = saved_find(current);

    if (!saved || !saved->frame || current->flags & PF_IO_WORKER)
        return false;
    saved->throttle_start = bpf_ktime_get_ns();
    return true;
}

static __always_inline int kprobe_leave_throttle(void)
{
    struct saved_call *saved = saved_find(bpf_get_current_task_btf());
    const struct saved_file *file;
    struct call call = {};

    if (!saved || !saved->frame || !saved->throttle_start)
        return 0;
    file = saved->target ? &saved->files[1] : &saved->files[0];
    call.time_ns = bpf_ktime_get_ns() - saved->throttle_start;
    saved->throttle_start = 0;
    call.who = saved->who;
    call.op = saved->written;
    call.sb = file->sb;
    call.dev = file->dev;
    call.hints = saved->hints;
    throttle_add(&call);
    return 0;
}

/* --- the programs ----------------------------------------------------------------------------- */

/* Returns whether the return is needed. */
static __always_inline bool kprobe_enter(struct pt_regs *regs, __u64 cookie)
{
    const volatile struct kprobe_entry *entry = kprobe_entry(cookie);

    if (who_has_no_steps())
        return false;
    switch (entry->role) {
    case KPROBE_RELEASE:
    case KPROBE_FLUSH:
        return kprobe_enter_close(regs, entry);
    case KPROBE_WALKED:
        return kprobe_walked(regs, entry);
    case KPROBE_PARENT:
        return kprobe_seek_parent(regs, entry);
    case KPROBE_THROTTLE:
        return kprobe_enter_throttle();
    }
    return kprobe_enter_call(regs, entry);
}

static __always_inline int kprobe_leave(struct pt_regs *regs, __u64 cookie)
{
    const volatile struct kprobe_entry *entry = kprobe_entry(cookie);

    if (!kprobe_trampoline)
        kprobe_trampoline = kprobe_witness(KERNEL_STACK(regs));
    if (who_has_no_steps())
        return 0;
    switch (entry->role) {
    case KPROBE_PARENT:
        return kprobe_found_parent(regs);
    case KPROBE_THROTTLE:
        return kprobe_leave_throttle();
    }
    return kprobe_leave_call(regs, entry);
}

#endif
