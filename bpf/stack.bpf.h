/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports the user stacks of long calls. A stack is copied as it is, because most programs and
 * libraries are built without frame pointers: user space unwinds it by the tables of the program.
 * If no stacks are wanted, the verifier removes all of it from the programs.
 */
#ifndef JOBIO_BPF_STACK_H
#define JOBIO_BPF_STACK_H

#define NS_PER_S 1000000000ull

/* The loader sets the sizes of both maps. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} stacks SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct stack_step);
} stack_steps SEC(".maps");

/* How many stacks of a program in memory (stack_program) were taken, up to STACK_FIRST. */
struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1);
    __type(key, __u64);
    __type(value, __u8);
} stack_programs SEC(".maps");

static __always_inline bool stack_is_wanted(__u64 time_ns)
{
    return features.long_ns && time_ns >= features.long_ns;
}

/* Returns whether the limit of the step allows another stack. What it did not use of the last
 * second is left. Calls that end at the same time may exceed the limit. */
static __always_inline bool stack_is_due(struct stack_step *calls)
{
    __u64 now = bpf_ktime_get_ns(), due = calls->due_ns;

    if (now > NS_PER_S && due < now - NS_PER_S)
        due = now - NS_PER_S;
    if (due > now)
        return false;
    calls->due_ns = due + calls->interval_ns;
    return true;
}

/* Returns the number of bytes that could be copied. A page that is not in memory ends the copy. */
static __always_inline __u32 stack_copy(struct stack_record *record, __u64 from)
{
    __u32 size = 0;

#pragma unroll
    for (int i = 0; i < STACK_CHUNKS; i++) {
        if (bpf_probe_read_user(record->bytes + i * STACK_CHUNK, STACK_CHUNK,
                                (void *)(from + i * STACK_CHUNK)))
            break;
        size += STACK_CHUNK;
    }
    return size;
}

/* Returns the user of the thread; -1: of a program that runs with other ids than its caller. */
static __always_inline __u32 stack_user(struct task_struct *task)
{
    const struct cred *cred = BPF_CORE_READ(task, cred);
    __u32 uid = BPF_CORE_READ(cred, uid.val), gid = BPF_CORE_READ(cred, gid.val);

    return BPF_CORE_READ(cred, euid.val) == uid && BPF_CORE_READ(cred, suid.val) == uid &&
                   BPF_CORE_READ(cred, egid.val) == gid && BPF_CORE_READ(cred, sgid.val) == gid
               ? uid
               : -1;
}

/* Two programs with the same value are taken for one: the second one is read a little later. */
static __always_inline __u64 stack_program(const struct stack_record *record)
{
    return record->stack_start ^ (__u64)record->pid << 32;
}

/* Returns whether this is one of the first stacks of the program. */
static __always_inline bool stack_is_first(__u64 program)
{
    __u8 *taken = bpf_map_lookup_elem(&stack_programs, &program), one = 1;

    if (taken)
        return *taken < STACK_FIRST && (*taken)++ < STACK_FIRST;
    bpf_map_update_elem(&stack_programs, &program, &one, BPF_ANY);
    return true;
}

/* Returns whether user space is to be woken. It has to read the mappings of a program at once,
 * which grow while its libraries are loaded, because the process may end soon. Later stacks are
 * read together: to wake it costs several times as much as to take and unwind a known stack. */
static __always_inline bool stack_is_urgent(struct stack_step *calls, __u64 program)
{
    __u64 now = bpf_ktime_get_ns();

    if (!stack_is_first(program) && now - calls->woken_ns < STACK_WAKE_NS &&
        bpf_ringbuf_query(&stacks, BPF_RB_AVAIL_DATA) < JOBIO_STACKS_BYTES / 4)
        return false;
    calls->woken_ns = now;
    return true;
}

static __always_inline bool stack_report(__u32 step, struct stack_step *calls, __u64 time_ns)
{
    struct task_struct *task = bpf_get_current_task_btf();
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    struct stack_record *record = bpf_ringbuf_reserve(&stacks, sizeof(*record), 0);
    bool urgent;

    if (!record)
        return false;
    record->time_ns = time_ns;
    record->started = BPF_CORE_READ(task, group_leader, start_time);
    record->stack_start = BPF_CORE_READ(task, mm, start_stack);
    record->step = step;
    record->pid = bpf_get_current_pid_tgid() >> 32;
    record->uid = stack_user(task);
    bpf_get_current_comm(record->comm, sizeof(record->comm));
    if (bpf_probe_read_kernel(record->registers, sizeof(record->registers), regs))
        record->registers[STACK_RSP] = 0;
    record->size = stack_copy(record, record->registers[STACK_RSP] & -STACK_CHUNK);
    urgent = stack_is_urgent(calls, stack_program(record));
    bpf_ringbuf_submit(record, urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
    return true;
}

/* Count a call of the current thread that took long. Not static: see bpf/who.bpf.h. */
__noinline int stack_take(__u32 step, __u64 time_ns)
{
    struct stack_step *calls;

    if (!features.long_ns || !features.task_regs)
        return 0;
    calls = bpf_map_lookup_elem(&stack_steps, &step);
    if (!calls || time_ns < calls->least_ns)
        return 0;
    __sync_fetch_and_add(&calls->calls, 1);
    __sync_fetch_and_add(&calls->time_ns, time_ns);
    if (!stack_is_due(calls)) {
        __sync_fetch_and_add(&calls->unsampled_calls, 1);
        __sync_fetch_and_add(&calls->unsampled_ns, time_ns);
    } else if (!stack_report(step, calls, time_ns)) {
        __sync_fetch_and_add(&calls->lost_calls, 1);
        __sync_fetch_and_add(&calls->lost_ns, time_ns);
    }
    return 0;
}

#endif
