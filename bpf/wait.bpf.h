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

/* A later slice replaces the one of SLICES before. */
static __always_inline void slice_raise(struct account_value *value, __u64 slice, __u32 units)
{
    raise_to(&value->slices[slice % SLICES], slice << 32 | units);
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
            units += wait_units(before) - (__u32)wait->since;
        if (early)
            slice_raise(value, slice - 1, units);
        wait->since = slice << 32 | wait_units(before + early);
    }
    units = wait_units(wait->ns) - (__u32)wait->since;
    if (units > wait_units(inside)) /* two threads ended a chain at once */
        units = wait_units(inside);
    slice_raise(value, slice, units);
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
