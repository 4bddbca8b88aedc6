/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writeback throttling: balance_dirty_pages() holds up a task that makes pages dirty faster than
 * they are written. Its time is a part of the time of the task's call, on the file that the call
 * writes. In a read (into a buffer that is a mapped file) it cannot be told from the rest of the
 * call. Asynchronous calls have no time. A fault is throttled in fault_dirty_shared_page(), after
 * do_page_mkwrite() has returned and its request is counted: the time is added to that of
 * mmap_write, but not to its latencies.
 */
#ifndef JOBIO_BPF_THROTTLE_H
#define JOBIO_BPF_THROTTLE_H

/* Add the time for which a call was throttled. Returns its counters, NULL if there are none. Counts
 * of uncached bytes have the same place in those of reads. */
static __always_inline struct account_value *throttle_add(const struct call *call)
{
    struct account_value *value;

    if (call->op == IO_READ || !call->sb)
        return NULL;
    value = account_find(call);
    if (value)
        add(&value->throttled_ns, call->time_ns);
    return value;
}

#endif
