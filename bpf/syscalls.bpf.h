/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The backend for kernels that do not allow programs to attach to their functions: it only sees
 * entry and return of system calls. The files of a call are looked up at entry, because another
 * thread may close the descriptor before the call returns.
 */
#ifndef JOBIO_BPF_SYSCALLS_BPF_H
#define JOBIO_BPF_SYSCALLS_BPF_H

const volatile struct syscall_entry syscall_table[SYSCALL_COUNT] = {};

static __always_inline __u64 syscall_argument(const struct pt_regs *regs, __u8 index)
{
    switch (index) {
    case 0:
        return REGS_FIRST(regs);
    case 1:
        return REGS_SECOND(regs);
    case 2:
        return REGS_THIRD(regs);
    case 3:
        return REGS_FOURTH(regs);
    case 4:
        return REGS_FIFTH(regs);
    }
    return REGS_SIXTH(regs);
}

/* Returns the table entry of a system call, NULL if it is not counted here. 32-bit programs use
 * other numbers, so their calls are not counted. */
static __always_inline const volatile struct syscall_entry *syscall_known(struct task_struct *task,
                                                                          __u64 number)
{
    const volatile struct syscall_entry *entry;

    if (number >= SYSCALL_COUNT || TASK_IS_32_BIT(task))
        return NULL;
    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("%0 &= 511" : "+r"(number));
    entry = &syscall_table[number];
    return entry->kind ? entry : NULL;
}

/* Returns whether close(2) of the file ends its last use. */
static __always_inline bool file_is_last(struct file *file)
{
    struct file___ref *counted = (struct file___ref *)file;

    if (bpf_core_field_exists(counted->f_ref))
        return !BPF_CORE_READ(counted, f_ref.refcnt.counter);
    return BPF_CORE_READ(file, f_count.counter) == 1;
}

/* Returns whether the call counts on this file. Only regular files hold data. A file opened with
 * O_PATH accepts few calls. */
static __always_inline bool file_takes(struct file *file, enum syscall_kind kind, enum io_op op)
{
    __u16 mode = BPF_CORE_READ(file, f_inode, i_mode);

    if (kind == SYSCALL_CLOSE)
        return (mode & S_IFMT) == S_IFREG && file_is_last(file) &&
               !mount_is_internal(BPF_CORE_READ(file, f_path.mnt));
    if ((BPF_CORE_READ(file, f_mode) & FMODE_PATH) && kind != SYSCALL_AT && op != IO_STAT &&
        op != IO_LOOKUP)
        return false;
    return op >= IO_OP_FIRST_META || (mode & S_IFMT) == S_IFREG;
}

static __always_inline void target_find(struct saved_file *target, struct task_struct *task,
                                        __u32 descriptor, enum syscall_kind kind, enum io_op op)
{
    struct file *file = file_of_descriptor(task, descriptor);

    target->sb = NULL;
    if (file && file_takes(file, kind, op))
        saved_set_super(target, BPF_CORE_READ(file, f_inode, i_sb));
}

/* F_GETLK, F_SETLK, F_SETLKW, and the same for locks of open files. */
static __always_inline bool command_locks(__u32 command)
{
    return command - 5 < 3 || command - 36 < 3;
}

/* Returns whether a call with these arguments works on the file of its descriptor. For SYSCALL_AT
 * it also depends on the path, which is stored in *path and read at return: only then is it
 * certainly in memory. */
static __always_inline bool syscall_fits(const volatile struct syscall_entry *entry,
                                         const struct pt_regs *regs, const char **path)
{
    *path = NULL;
    switch (entry->kind) {
    case SYSCALL_AT:
        if (!(syscall_argument(regs, entry->flags) & AT_EMPTY_PATH))
            return false;
        *path = (const char *)syscall_argument(regs, entry->second);
        return true;
    case SYSCALL_NULL:
        return !syscall_argument(regs, entry->second);
    case SYSCALL_LOCK:
        return command_locks(syscall_argument(regs, entry->second));
    }
    return true;
}

static __always_inline void syscall_find_files(struct saved_call *record,
                                               const volatile struct syscall_entry *entry,
                                               struct task_struct *task, const struct pt_regs *regs)
{
    record->files[0].sb = record->files[1].sb = NULL;
    if (entry->kind == SYSCALL_OPEN || !syscall_fits(entry, regs, &record->path))
        return;
    target_find(&record->files[0], task, syscall_argument(regs, entry->fd), entry->kind, entry->op);
    if (entry->kind == SYSCALL_TWO)
        target_find(&record->files[1], task, syscall_argument(regs, entry->second), entry->kind,
                    entry->target);
}

static __always_inline int syscall_enter(struct pt_regs *regs, __u64 number)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const volatile struct syscall_entry *entry;
    struct saved_call *record;

    if (who_has_no_steps())
        return 0;
    entry = syscall_known(task, number);
    if (!entry)
        return 0;
    record = saved_enter(task, LOST_LATENCIES);
    if (!record)
        return 0;
    syscall_find_files(record, entry, task, regs);
    record->number = number + 1;
    record->start = bpf_ktime_get_ns();
    return 0;
}

/* A path that cannot be read counts as empty: the call itself was able to read it. */
static __always_inline bool path_is_empty(const char *path)
{
    char first = 0;

    if (path)
        bpf_probe_read_user(&first, sizeof(first), path);
    return !first;
}

static __always_inline void syscall_count_open(struct call *call, struct task_struct *task)
{
    struct file *file = call->result < 0 ? NULL : file_of_descriptor(task, call->result);

    if (call->result >= 0 && !file) /* closed by another thread meanwhile */
        account_lost(call->who.key, LOST_REQUESTS, 1);
    else
        saved_count_open(call, file);
}

/* Look up the files of a call whose task joined its step in mid-call; the arguments are still
 * there. A failed call is ignored, because seccomp may have prevented it. */
static __always_inline struct saved_call *syscall_late(struct task_struct *task,
                                                       const volatile struct syscall_entry *entry,
                                                       const struct pt_regs *regs, __s64 result)
{
    struct saved_call *record = result < 0 ? NULL : saved_enter(task, LOST_LATENCIES);

    if (record)
        syscall_find_files(record, entry, task, regs);
    return record;
}

static __always_inline int syscall_leave(struct pt_regs *regs, __s64 result)
{
    struct task_struct *task = bpf_get_current_task_btf();
    const volatile struct syscall_entry *entry;
    struct call call = {.result = result};
    struct saved_call *record;
    __u64 number = REGS_NUMBER(regs);

    if (who_has_no_steps())
        return 0;
    entry = syscall_known(task, number);
    if (!entry)
        return 0;
    record = saved_find(task);
    if (record && record->number == number + 1) {
        call.time_ns = bpf_ktime_get_ns() - record->start;
        call.wait = &record->wait;
    } else {
        record = syscall_late(task, entry, regs, result);
        if (!record)
            return 0;
    }
    record->number = 0;
    call.who = record->who;
    call.hints = record->hints;
    call.op = entry->op;
    if (entry->kind == SYSCALL_OPEN) {
        if (span_path_is_wanted(&call.who))
            call.span_at = span_path_in_process(syscall_argument(regs, entry->second));
        syscall_count_open(&call, task);
    } else if (entry->kind != SYSCALL_AT || path_is_empty(record->path)) {
        saved_count(&call, record, entry->target);
    }
    return 0;
}

#endif
