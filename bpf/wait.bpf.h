/* SPDX-License-Identifier: GPL-2.0 */
/* The wait of a thread: in all its calls, and in each slice of time (bpf/records.h). */
#ifndef JOBIO_BPF_WAIT_H
#define JOBIO_BPF_WAIT_H

static __always_inline void add(__u64 *counter, __u64 n)
{
    __sync_fetch_and_add(counter, n);
}

static __always_inline void raise_to(__u64 *maximum, __u64 value)
{
    if (value > *maximum)
        *maximum = value;
}

static __always_inline __u32 wait_units(__u64 ns)
{
    return ns >> SLICE_UNIT_LOG2;
}

/* A later slice replaces the one of SLICES before. Another CPU that compared before this one has
 * stored may store a smaller value after it, so look again; old kernels have no compare-and-swap.
 */
static __always_inline void slice_raise(struct account_value *value, __u64 slice, __u32 units)
{
    volatile __u64 *at = &value->slices[slice % SLICES];
    __u64 raised = slice << 32 | units;

    for (int i = 0; i < 2; i++)
        if (raised > *at)
            *at = raised;
}

/* The thread's wait in the slice of `since`, when its wait was `ns`, in units. Limited, because
 * `since` may be of another thread than the rest, if two threads have ended a chain at once. */
static __always_inline __u32 slice_wait(const struct wait *wait, __u64 ns, __u32 limit)
{
    __u32 units = wait_units(ns) - (__u32)wait->since;

    return units < limit ? units : limit;
}

/* Add a call to the slice in which it ended, now. The part of it before that slice belongs to the
 * slice before, with the thread's other calls in the slice in which the call started. Not inlined:
 * it runs once per unit of waiting. */
static __noinline int slice_add(struct wait *wait, struct account_value *value, __u64 time_ns)
{
    __u64 now = bpf_ktime_get_ns(), slice = now >> SLICE_LOG2, inside = (__u32)now, early = 0;
    __u64 before = wait->ns - time_ns;
    __u32 units;

    if (wait->since >> 32 != slice) {
        early = time_ns > inside ? time_ns - inside : 0;
        units = wait_units(early);
        if (wait->since >> 32 == (now - time_ns) >> SLICE_LOG2)
            units += slice_wait(wait, before, wait_units((__u32)(now - time_ns)));
        if (early)
            slice_raise(value, slice - 1, units);
        wait->since = slice << 32 | wait_units(before + early);
    }
    slice_raise(value, slice, slice_wait(wait, wait->ns, wait_units(inside)));
    return 0;
}

/* Add the time of a call to the wait of its thread, and to the counters. */
static __always_inline void wait_add(struct wait *wait, __u64 time_ns, struct account_value *value)
{
    __u64 before = wait->ns, ns = before + time_ns;

    wait->ns = ns;
    add(&value->time_ns, time_ns);
    raise_to(&value->longest_wait_ns, ns);
    if ((before ^ ns) >> SLICE_UNIT_LOG2)
        slice_add(wait, value, time_ns);
}

#endif
