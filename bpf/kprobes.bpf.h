/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backend of kprobes: the functions of bpf/hooks.h, seen through the registers. The end of a
 * function (kretprobe) has no arguments, so all is looked up at its begin. As in bpf/call.bpf.h only
 * the outermost hooked call of a task counts. Here it is known by the place on the stack from which
 * the function takes the address to return to. As long as the call runs, there lies what lay there at
 * its begin, or the address that a kretprobe has put there.
 */
#ifndef JOBIO_BPF_KPROBES_H
#define JOBIO_BPF_KPROBES_H

/* Above any kernel stack's size. */
#define STACK_BYTES (64 * 1024)

const volatile struct kprobe_entry kprobe_table[KPROBE_ENTRIES] = {};

static __always_inline const volatile struct kprobe_entry *kprobe_entry(__u64 cookie)
{
    /* The compiler must not see the bound, so that the verifier does. */
    asm volatile("%0 &= 127" : "+r"(cookie));
    return &kprobe_table[cookie];
}

/* The address that kretprobes put on the stack, learnt from the first that ends. */
__u64 kprobe_trampoline = 0;

/* The barrier keeps the compiler from one load with a computed place, which the verifier refuses. */
#define ARGUMENT(place, name)              \
    case place:                            \
        value = KERNEL_##name(regs);       \
        asm volatile("" : "+r"(value)); \
        break

static __always_inline __u64 argument(struct pt_regs *regs, __u8 place)
{
    __u64 value = 0;

    switch (place) {
        ARGUMENT(0, FIRST);
        ARGUMENT(1, SECOND);
        ARGUMENT(2, THIRD);
        ARGUMENT(3, FOURTH);
        ARGUMENT(4, FIFTH);
        ARGUMENT(5, SIXTH);
    }
    return value;
}

/* What lies where the function takes the address to return to; 0 where the stack does not have it. */
static __always_inline __u64 kprobe_witness(__u64 frame)
{
    __u64 witness = 0;

    if (RETURN_BYTES)
        bpf_probe_read_kernel(&witness, sizeof(witness), (void *)frame - sizeof(witness));
    return witness;
}

/* Does the outermost call still run that we remember, and is this one below it? */
static __always_inline bool kprobe_is_inside(const struct saved_call *saved, __u64 frame)
{
    __u64 witness;

    if (frame >= saved->frame || frame < saved->frame - STACK_BYTES)
        return false;
    witness = kprobe_witness(saved->frame);
    return witness == saved->witness || witness == kprobe_trampoline;
}

static __always_inline bool kprobe_takes(struct file *file, enum io_op op)
{
    return op >= IO_OP_FIRST_META ||
           (BPF_CORE_READ(file, f_inode, i_mode) & S_IFMT) == S_IFREG;
}

/* The super block that an argument leads to, NULL: none, or not to be counted. */
static __always_inline struct super_block *kprobe_super(__u64 object, __u8 kind, enum io_op op)
{
    struct renamedata *rename = (struct renamedata *)object;
    struct dentry *dentry = (struct dentry *)object;
    struct path *path = (struct path *)object;
    struct file *file = (struct file *)object;
    struct pt_regs *regs = (struct pt_regs *)object;
    __u32 descriptor;

    switch (kind) {
    case OBJECT_REGS:
    case OBJECT_REGS_32:
        descriptor = kind == OBJECT_REGS ? BPF_CORE_READ(regs, REGS_FIRST_MEMBER)
                                         : BPF_CORE_READ(regs, REGS_FIRST_32_MEMBER);
        file = file_of_descriptor(bpf_get_current_task_btf(), descriptor);
        return file ? BPF_CORE_READ(file, f_inode, i_sb) : NULL;
    case OBJECT_FILE:
        return kprobe_takes(file, op) ? BPF_CORE_READ(file, f_inode, i_sb) : NULL;
    case OBJECT_PATH:
        return BPF_CORE_READ(path, dentry, d_sb);
    case OBJECT_DENTRY:
        return BPF_CORE_READ(dentry, d_sb);
    case OBJECT_RENAME:
        return BPF_CORE_READ(rename, old_dentry, d_sb);
    }
    return NULL;
}

/* `to`: the operation on the second file, if there is one. True: there is something to count. */
static __always_inline bool kprobe_find_files(struct pt_regs *regs, struct saved_call *saved,
                                              const volatile struct hook_slots *at, enum io_op op,
                                              enum io_op to)
{
    struct super_block *sb;

    saved->files[0].sb = saved->files[1].sb = NULL;
    if (at->object == OBJECT_OPEN)
        return true;
    sb = kprobe_super(argument(regs, at->argument), at->object, op);
    if (sb)
        saved_reach(&saved->files[0], sb);
    if (to == IO_OP_COUNT || at->second == HOOK_NO_SLOT)
        return sb;
    sb = kprobe_super(argument(regs, at->second), OBJECT_FILE, to);
    if (sb)
        saved_reach(&saved->files[1], sb);
    return saved->files[0].sb || sb;
}

/* A core dump has no source, and the kernel writes for itself through the same function. */
static __always_inline bool kprobe_is_own(const volatile struct hook_slots *at, enum io_op to)
{
    return to != IO_WRITE || at->object == OBJECT_FILE ||
           bpf_get_current_task_btf()->flags & PF_DUMPCORE;
}

static __always_inline int kprobe_begin(struct pt_regs *regs, __u64 cookie)
{
    const volatile struct kprobe_entry *entry = kprobe_entry(cookie);
    const volatile struct hook_slots *at = &entry->at;
    enum io_op op = entry->op, to = entry->to;
    __u64 frame = KERNEL_STACK(regs) + RETURN_BYTES;
    struct saved_call *saved;

    if (who_has_no_steps() || !kprobe_is_own(at, to))
        return 0;
    saved = saved_enter(bpf_get_current_task_btf());
    if (!saved)
        return 0;
    if (saved->frame) {
        if (kprobe_is_inside(saved, frame))
            return 0;
        account_lost(saved->who.key, LOST_ENDS, 1);
        saved->frame = 0;
    }
    if (!kprobe_find_files(regs, saved, at, op, to))
        return 0;
    saved->frame = frame;
    saved->witness = kprobe_witness(frame);
    saved->start = bpf_ktime_get_ns();
    return 0;
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

/* A call that began before its task was in the step is not known: its arguments are gone. */
static __always_inline int kprobe_end(struct pt_regs *regs, __u64 cookie)
{
    const volatile struct kprobe_entry *entry = kprobe_entry(cookie);
    __u64 frame = KERNEL_STACK(regs), result = KERNEL_RESULT(regs), witness;
    struct call call = {.op = entry->op};
    struct saved_call *saved;

    if (who_has_no_steps())
        return 0;
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
    call.wait_ns = call.async ? NULL : &saved->wait_ns;
    call.result = kprobe_result(result, entry->at.returns);
    if (entry->at.object == OBJECT_OPEN)
        saved_count_open(&call, call.result < 0 ? NULL : (struct file *)result);
    else
        saved_count(&call, saved, entry->to);
    return 0;
}

#endif
