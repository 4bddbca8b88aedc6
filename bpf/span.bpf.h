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

/* Returns a record for what ended now; pass it to span_submit(). NULL: it is left out. */
static __always_inline struct span_record *span_reserve(__u32 slot, __u32 step, enum span_kind kind,
                                                        __u64 time_ns)
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
    record = bpf_ringbuf_reserve(&spans, sizeof(*record), 0);
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
