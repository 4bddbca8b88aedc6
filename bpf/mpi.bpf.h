/* SPDX-License-Identifier: GPL-2.0 */
/* Counts calls of MPI-IO at their return. A call that another one makes on the same thread is a
 * part of it. */
#ifndef JOBIO_BPF_MPI_H
#define JOBIO_BPF_MPI_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MPI_MAX_COUNTERS);
    __type(key, struct mpi_counter_key);
    __type(value, struct mpi_counter_value);
} mpi_counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MPI_MAX_STEPS);
    __type(key, __u32);
    __type(value, struct mpi_step_record);
} mpi_steps SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MPI_MAX_PROCESSES);
    __type(key, struct mpi_process_key);
    __type(value, struct mpi_process_record);
} mpi_processes SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MPI_MAX_CALLS);
    __type(key, struct mpi_call_key);
    __type(value, struct mpi_call_record);
} mpi_calls SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MPI_MAX_CALLS);
    __type(key, struct mpi_split_key);
    __type(value, struct mpi_split_record);
} mpi_splits SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, MPI_EXECS_BYTES);
} mpi_execs SEC(".maps");

/* Initial value of an element. */
static const struct mpi_counter_value mpi_no_calls;

static const volatile struct mpi_function mpi_functions[] = {MPI_FUNCTIONS(MPI_FUNCTION_ENTRY)};

static __always_inline void mpi_add(__u64 *counter, __u64 n)
{
    __sync_fetch_and_add(counter, n);
}

#define MPI_LOSE(step, cause)                                                       \
    do {                                                                            \
        struct mpi_step_record *record_ = bpf_map_lookup_elem(&mpi_steps, &(step)); \
        if (record_)                                                                \
            mpi_add(&record_->cause, 1);                                            \
    } while (0)

/* The programs for requests have usually put the step into the task's slot. */
static __always_inline bool mpi_find_who(struct who *who)
{
    __u64 self = bpf_get_current_task();
    const struct task_record *task = task_slot(task_slot_of(self));

    if (who_has_no_steps() || who_is_outside())
        return false;
    if (task->owner != self || !who_is_valid(&task->who))
        return who_find(who, current_task());
    *who = task->who;
    return who->shard_mask != WHO_NO_STEP;
}

/* Returns the number of the current task's step, and fills in *who; 0: it has none, or one whose
 * MPI-IO is not counted. */
static __always_inline __u32 mpi_find_step(struct who *who)
{
    __u32 step;

    if (!mpi_find_who(who))
        return 0;
    step = who_number(who->key);
    return bpf_map_lookup_elem(&mpi_steps, &step) ? step : 0;
}

/* A process whose start of MPI was not seen may have called functions before they had probes. If
 * there is no room for it, that would be counted at each of its calls. */
static __always_inline void mpi_note_process(__u32 step, bool init)
{
    struct mpi_process_key key = {.step = step, .pid = bpf_get_current_pid_tgid() >> 32};
    struct mpi_process_record record = {
        .start_ns = TASK_READ(current_task(), group_leader, start_boottime), .init = init};
    const struct mpi_process_record *known = bpf_map_lookup_elem(&mpi_processes, &key);

    if (known && known->start_ns == record.start_ns)
        return;
    if (bpf_map_update_elem(&mpi_processes, &key, &record, BPF_ANY))
        MPI_LOSE(step, unnoted);
    else if (!init)
        MPI_LOSE(step, late);
}

/* The verifier allows only constant offsets into the registers: hide from the compiler that the
 * cases differ in nothing else. */
#define MPI_ARGUMENT(n, from)           \
    case n:                             \
        value = from;                   \
        asm volatile("" : "+r"(value)); \
        break;

static __always_inline __u64 mpi_argument(struct pt_regs *ctx, __u8 at)
{
    __u64 value = 0;

    switch (at) {
        MPI_ARGUMENT(0, KERNEL_FIRST(ctx))
        MPI_ARGUMENT(1, KERNEL_SECOND(ctx))
        MPI_ARGUMENT(2, KERNEL_THIRD(ctx))
        MPI_ARGUMENT(3, KERNEL_FOURTH(ctx))
        MPI_ARGUMENT(4, KERNEL_FIFTH(ctx))
        MPI_ARGUMENT(5, KERNEL_SIXTH(ctx))
    }
    return value;
}

static __always_inline struct mpi_call_key mpi_call_key(__u32 step)
{
    return (struct mpi_call_key){.step = step, .tid = (__u32)bpf_get_current_pid_tgid()};
}

/* Returns whether MPI_X has jumped to PMPI_X. */
static __always_inline bool mpi_is_jump(const struct mpi_call_record *outer, __u32 cookie)
{
    return (__u32)outer->cookie == (cookie | MPI_COOKIE_ALIAS) && !(cookie & MPI_COOKIE_ALIAS);
}

/* Returns whether it is the same call. Overlay file systems with a layer in common show its file as
 * several: each has been attached to, and all programs run at each call. */
static __always_inline bool mpi_is_same(const struct mpi_call_record *outer, __u64 cookie,
                                        __u64 place)
{
    return outer->place == place && cookie >> 32 != outer->cookie >> 32;
}

/* Returns whether a call that enters is a part of the one that its thread is in, or that call. */
static __always_inline bool mpi_is_inside(const struct mpi_call_record *outer, __u64 cookie,
                                          struct pt_regs *ctx)
{
    __u64 stack = KERNEL_STACK(ctx);

    return stack < outer->stack ||
           (stack == outer->stack &&
            (mpi_is_jump(outer, cookie) || mpi_is_same(outer, cookie, KERNEL_PLACE(ctx))));
}

static __always_inline enum mpi_layout mpi_layout_of(const struct mpi_call_record *call)
{
    return call->cookie >> 8 & 0xff;
}

static __always_inline int mpi_call_enter(struct pt_regs *ctx)
{
    __u64 cookie = bpf_get_attach_cookie(ctx), thread_ns;
    struct who who = {};
    __u32 at = cookie & 0xff, step = mpi_find_step(&who);
    struct mpi_call_key key = mpi_call_key(step);
    const volatile struct mpi_function *function;
    const struct mpi_call_record *outer;

    if (!step || at >= MPI_FUNCTION_COUNT)
        return 0;
    function = &mpi_functions[at];
    mpi_note_process(step, function->part == MPI_PART_INIT);
    if (function->part == MPI_PART_INIT)
        return 0;
    thread_ns = TASK_READ(current_task(), start_boottime);

    struct mpi_call_record call = {
        .thread_ns = thread_ns,
        .stack = KERNEL_STACK(ctx),
        .place = KERNEL_PLACE(ctx),
        .file = KERNEL_FIRST(ctx),
        .count = mpi_argument(ctx, function->count),
        .type = mpi_argument(ctx, function->type),
        .status = mpi_argument(ctx, function->status),
        .cookie = cookie,
        .path = KERNEL_SECOND(ctx),
        .entry_ns = bpf_ktime_get_ns(),
    };
    if (bpf_map_update_elem(&mpi_calls, &key, &call, BPF_NOEXIST) == 0)
        return 0;
    outer = bpf_map_lookup_elem(&mpi_calls, &key);
    if (outer && outer->thread_ns == thread_ns && mpi_is_inside(outer, cookie, ctx))
        return 0;
    if (outer) /* its frame is gone: it was left by a jump, or the thread has ended */
        MPI_LOSE(step, ends);
    if (bpf_map_update_elem(&mpi_calls, &key, &call, BPF_ANY))
        MPI_LOSE(step, calls);
    return 0;
}

/* Get the number of bytes that the status reports. Returns false if the call has no status. */
static __always_inline bool mpi_status_bytes(const struct mpi_call_record *call, __u64 *ret)
{
    __u32 words[2]; /* count_lo, count_hi_and_cancelled */

    if (mpi_layout_of(call) == MPI_LAYOUT_OPEN_MPI)
        return call->status &&
               bpf_probe_read_user(ret, sizeof(*ret), (const void *)(call->status + 16)) == 0;
    if (call->status <= 1 ||
        bpf_probe_read_user(words, sizeof(words), (const void *)call->status) != 0)
        return false;
    *ret = words[0] | (__u64)(words[1] >> 1) << 32;
    return true;
}

/* More than the address space of a process: a call cannot have as many bytes. */
#define MPI_MAX_BYTES (1ULL << 48)

/* What the arguments of a call show about its bytes. */
enum mpi_request { MPI_REQUEST_KNOWN, MPI_REQUEST_UNKNOWN, MPI_REQUEST_IMPOSSIBLE };

/* Get the number of bytes that the call asked for. It is unknown if only the library knows the size
 * of the type, and impossible if the arguments are not what they are in this layout. */
static __always_inline enum mpi_request mpi_requested_bytes(const struct mpi_call_record *call,
                                                            bool large, __u64 *ret)
{
    __s64 count = large ? (__s64)call->count : (__s32)call->count;
    __u64 size = 0;

    if (count < 0)
        return MPI_REQUEST_IMPOSSIBLE;
    if (mpi_layout_of(call) == MPI_LAYOUT_OPEN_MPI) {
        if (bpf_probe_read_user(&size, sizeof(size), (const void *)(call->type + 24)) != 0)
            return MPI_REQUEST_IMPOSSIBLE;
    } else if ((call->type & 0x3c000000) != 0x0c000000) {
        return MPI_REQUEST_IMPOSSIBLE; /* no handle of a type */
    } else if ((call->type & 0xff000000) == 0x4c000000) {
        size = call->type >> 8 & 0xff;
    } else if (count) {
        return MPI_REQUEST_UNKNOWN;
    }
    if (size && (__u64)count > MPI_MAX_BYTES / size)
        return MPI_REQUEST_IMPOSSIBLE;
    *ret = count * size;
    return MPI_REQUEST_KNOWN;
}

/* What a return adds to its class. */
struct mpi_result {
    __u32 class;
    bool begins; /* the first function of a split call: its size and latency are not known yet */
    bool continues;
    bool failed;
    bool known;
    bool impossible; /* arguments or status are not what they are in this layout */
    bool requested;  /* `bytes` were asked for, not reported by a status */
    __u64 time_ns;
    __u64 before_ns; /* in the first function */
    __u64 bytes;
};

/* If arguments are impossible, or the status reports more than they asked for, the library has
 * another layout: then nothing is known. */
static __always_inline void mpi_find_bytes(const struct mpi_call_record *call,
                                           const volatile struct mpi_function *function,
                                           struct mpi_result *result)
{
    enum mpi_request request = MPI_REQUEST_UNKNOWN;
    __u64 most = 0;

    if (function->count != MPI_NONE)
        request = mpi_requested_bytes(call, function->large, &most);
    result->impossible = request == MPI_REQUEST_IMPOSSIBLE;
    if (result->impossible)
        return;
    if (function->status != MPI_NONE && mpi_status_bytes(call, &result->bytes)) {
        result->known = result->bytes <= (request == MPI_REQUEST_KNOWN ? most : MPI_MAX_BYTES);
        result->impossible = !result->known;
    } else {
        result->known = result->requested = request == MPI_REQUEST_KNOWN;
        result->bytes = most;
    }
}

static __always_inline void mpi_count(__u32 step, const struct mpi_result *result)
{
    struct mpi_counter_key key = {.step = step, .class = result->class};
    struct mpi_counter_value *value = bpf_map_lookup_elem(&mpi_counters, &key);

    if (!value) {
        bpf_map_update_elem(&mpi_counters, &key, &mpi_no_calls, BPF_NOEXIST);
        value = bpf_map_lookup_elem(&mpi_counters, &key);
    }
    if (!value) {
        MPI_LOSE(step, calls);
        return;
    }
    mpi_add(&value->time_ns, result->time_ns);
    if (!result->continues)
        mpi_add(&value->calls, 1);
    if (result->failed)
        mpi_add(&value->errors, 1);
    if (result->begins && !result->failed)
        return;
    mpi_add(&value->latency[bucket_of(result->before_ns + result->time_ns, 7)], 1);
    if (result->failed || result->class >= MPI_CLASS_FIRST_META)
        return;
    if (!result->known) {
        mpi_add(&value->unknown_calls, 1);
        return;
    }
    mpi_add(result->requested ? &value->requested_bytes : &value->bytes, result->bytes);
    mpi_add(&value->size[bucket_of(result->bytes, 0)], 1);
}

/* The first function of a split call has the count, the second one the status. */
static __always_inline void mpi_split(__u32 step, const struct mpi_call_record *call,
                                      struct mpi_result *result)
{
    struct mpi_split_key key = {
        .step = step, .pid = bpf_get_current_pid_tgid() >> 32, .file = call->file};
    struct mpi_split_record record = {.time_ns = result->time_ns,
                                      .bytes = result->bytes,
                                      .known = result->known,
                                      .impossible = result->impossible};
    const struct mpi_split_record *begun = bpf_map_lookup_elem(&mpi_splits, &key);

    if (result->begins && result->failed)
        return;
    if (result->begins) {
        if (begun) /* of a process that has ended, with the same pid and file */
            MPI_LOSE(step, ends);
        if (bpf_map_update_elem(&mpi_splits, &key, &record, BPF_ANY))
            MPI_LOSE(step, ends);
        return;
    }
    if (begun) {
        result->before_ns = begun->time_ns;
        if (begun->impossible) {
            result->known = false;
        } else if (!result->known && !result->impossible) {
            result->known = begun->known;
            result->requested = true;
            result->bytes = begun->bytes;
        } else if (begun->known && result->bytes > begun->bytes) {
            result->known = false;
        }
        bpf_map_delete_elem(&mpi_splits, &key);
    }
}

/* Report the call if its step is traced. A split call has two functions. */
static __noinline int mpi_span(const struct who *who, __u32 function,
                               const struct mpi_result *result, __u64 entry_ns, __u64 path)
{
    struct span_record *record = span_reserve(
        step_trace_slot(who->shard_mask), who_number(who->key), SPAN_MPI, result->time_ns, path);

    if (!record)
        return 0;
    record->end_ns = entry_ns + result->time_ns; /* so that its requests are inside */
    record->op = function;
    record->dev = 0;
    record->generation = 0;
    record->error = result->failed;
    record->bytes = result->bytes;
    record->offset = 0;
    record->flags =
        result->class < MPI_CLASS_FIRST_META && result->known && !result->failed && !result->begins
            ? SPAN_BYTES
            : 0;
    /* A process that opens a file lives on: its environment can be read. */
    span_submit(record, function == MPI_File_open_FUNCTION);
    return 0;
}

static __always_inline int mpi_call_leave(struct pt_regs *ctx)
{
    struct who who = {};
    /* The entry has found that the step is counted. */
    __u32 step = mpi_find_who(&who) ? who_number(who.key) : 0, at;
    struct mpi_call_key key = mpi_call_key(step);
    const struct mpi_call_record *call = step ? bpf_map_lookup_elem(&mpi_calls, &key) : NULL;
    const volatile struct mpi_function *function;
    struct mpi_result result = {};

    if (!call || KERNEL_STACK(ctx) != call->stack + RETURN_BYTES)
        return 0;
    at = call->cookie & 0xff;
    if (at >= MPI_FUNCTION_COUNT)
        return 0;
    function = &mpi_functions[at];
    result.class = function->class;
    result.begins = function->part == MPI_PART_BEGIN;
    result.continues = function->part == MPI_PART_END;
    result.failed = (__s32)KERNEL_RESULT(ctx) != 0;
    result.time_ns = bpf_ktime_get_ns() - call->entry_ns;
    mpi_find_bytes(call, function, &result);
    if (result.begins || result.continues)
        mpi_split(step, call, &result);
    mpi_count(step, &result);
    if (span_is_wanted_of_mpi(&who))
        mpi_span(&who, at, &result, call->entry_ns,
                 at == MPI_File_open_FUNCTION && span_path_is_wanted(&who)
                     ? span_path_in_process(call->path)
                     : 0);
    bpf_map_delete_elem(&mpi_calls, &key);
    return 0;
}

static __always_inline int mpi_announce(void)
{
    struct who who = {};
    struct mpi_exec_record record = {.step = mpi_find_step(&who),
                                     .pid = bpf_get_current_pid_tgid() >> 32,
                                     .at_ns = bpf_ktime_get_ns()};
    struct mpi_process_key key = {.step = record.step, .pid = record.pid};
    struct mpi_call_key call = mpi_call_key(record.step);

    if (!record.step)
        return 0;
    record.known = bpf_map_delete_elem(&mpi_processes, &key) == 0; /* that was another program */
    /* A thread other than the first one has executed it, and got the id and the start of the first
     * one, which was in a call. */
    if (bpf_map_delete_elem(&mpi_calls, &call) == 0)
        MPI_LOSE(record.step, ends);
    if (bpf_ringbuf_output(&mpi_execs, &record, sizeof(record), 0))
        MPI_LOSE(record.step, execs);
    return 0;
}

#endif
