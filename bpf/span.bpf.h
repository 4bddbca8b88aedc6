/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reports single requests and MPI-IO calls of the steps that are traced. User space keeps the
 * slowest ones of an interval; what is too short to be one of them is counted here and not
 * reported. If no trace is allowed, the verifier removes all of it from the programs.
 */
#ifndef JOBIO_BPF_SPAN_H
#define JOBIO_BPF_SPAN_H

/* The loader sets the sizes of both maps. */
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} spans SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct trace_record);
} traces SEC(".maps");

/* Of a request. */
static __always_inline bool span_is_wanted(const struct who *who)
{
    return features.spans && who->shard_mask & STEP_TRACED;
}

/* Of a call of MPI-IO. */
static __always_inline bool span_is_wanted_of_mpi(const struct who *who)
{
    return features.spans && who->shard_mask & (STEP_TRACED | STEP_TRACED_MPI);
}

/* Of an open. */
static __always_inline bool span_path_is_wanted(const struct who *who)
{
    return features.spans && who->shard_mask & STEP_TRACE_PATHS;
}

/* Returns the address of a path in the kernel, from that of its struct filename; 0: there is none.
 */
static __always_inline __u64 span_path_of(__u64 address)
{
    struct filename *filename = (struct filename *)address;

    return (__u64)BPF_CORE_READ(filename, name);
}

/* The same for an address that a process has given: one of the kernel would show its memory. */
static __always_inline __u64 span_path_in_process(__u64 address)
{
    return (__s64)address < 0 ? 0 : address;
}

/* Addresses of the kernel have the highest bit. The rest of the path is not cleared: user space
 * reads it up to its 0. */
static __always_inline void span_read_path(struct span_path_record *record, __u64 path)
{
    long r;

    if ((__s64)path < 0)
        r = bpf_probe_read_kernel_str(record->path, sizeof(record->path), (const void *)path);
    else
        r = bpf_probe_read_user_str(record->path, sizeof(record->path), (const void *)path);
    if (r < 0)
        record->path[0] = '\0';
}

static __always_inline struct span_record *span_room(__u64 path)
{
    struct span_path_record *record;

    if (!path)
        return bpf_ringbuf_reserve(&spans, sizeof(struct span_record), 0);
    record = bpf_ringbuf_reserve(&spans, sizeof(*record), 0);
    if (!record)
        return NULL;
    span_read_path(record, path);
    return &record->span;
}

/* Returns a record for what ended now; pass it to span_submit(). NULL: it is left out. path:
 * span_path_of() or span_path_in_process() of an open; 0: none. */
static __always_inline struct span_record *span_reserve(__u32 slot, __u32 step, enum span_kind kind,
                                                        __u64 time_ns, __u64 path)
{
    struct trace_record *trace = bpf_map_lookup_elem(&traces, &slot);
    __u64 ids = bpf_get_current_pid_tgid();
    struct span_record *record;

    if (!trace)
        return NULL;
    if (time_ns < trace->least_ns) {
        __sync_fetch_and_add(&trace->shorter[kind], 1);
        return NULL;
    }
    record = span_room(path);
    if (!record) {
        __sync_fetch_and_add(&trace->overflow[kind], 1);
        return NULL;
    }
    __sync_fetch_and_add(&trace->reported[kind], 1);
    record->end_ns = bpf_ktime_get_ns();
    record->time_ns = time_ns;
    record->step = step;
    record->pid = ids >> 32;
    record->tid = ids;
    record->kind = kind;
    bpf_get_current_comm(record->comm, sizeof(record->comm));
    return record;
}

/* now: wake user space, even if there is much room left. */
static __always_inline void span_submit(struct span_record *record, bool now)
{
    __u64 used = bpf_ringbuf_query(&spans, BPF_RB_AVAIL_DATA);

    if (used > bpf_ringbuf_query(&spans, BPF_RB_RING_SIZE) / SPANS_WAKE_PART)
        now = true;
    bpf_ringbuf_submit(record, now ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

#endif
