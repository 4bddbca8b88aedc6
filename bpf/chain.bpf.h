/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that run one after the other form a chain, and their waits add up. In a script that runs
 * 10,000 short programs no single thread waits for long, but the script does. So a new thread
 * starts with the wait of the longest chain of threads that have exited. When it exits, it passes
 * on that wait plus its own. Calls of one chain never overlap, so its wait is at most the elapsed
 * time.
 */
#ifndef JOBIO_BPF_CHAIN_H
#define JOBIO_BPF_CHAIN_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_CHAINS);
    __type(key, __u32);
    __type(value, struct wait);
} chains SEC(".maps");

/* Set the wait with which a thread starts in the step. */
static __always_inline void chain_start(__u64 key, struct wait *wait)
{
    __u32 step = who_number(key);
    struct wait *chain = bpf_map_lookup_elem(&chains, &step);

    wait->ns = chain ? chain->ns : 0;
    wait->since = chain ? chain->since : 0;
}

/* Record the wait (struct wait) of a thread that exits. Does nothing if the step is gone, because
 * nothing would delete its key again. Not static: see bpf/who.bpf.h. */
__noinline int chain_end(__u64 key, __u64 ns, __u64 since)
{
    struct wait wait = {ns, since}, *chain;
    __u32 step = who_number(key);

    if (!key || !ns || !bpf_map_lookup_elem(&steps, &key))
        return 0;
    chain = bpf_map_lookup_elem(&chains, &step);
    if (!chain || ns > chain->ns)
        bpf_map_update_elem(&chains, &step, &wait, BPF_ANY);
    return 0;
}

#endif
