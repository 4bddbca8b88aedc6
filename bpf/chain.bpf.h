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
    __type(value, __u64);
} chains SEC(".maps");

/* Returns the wait, in ns, with which a thread starts in the step. Not static: see bpf/who.bpf.h.
 */
__noinline __u64 chain_start(__u64 key)
{
    __u32 step = who_number(key);
    __u64 *chain = bpf_map_lookup_elem(&chains, &step);

    return chain ? *chain : 0;
}

/* Record the wait of a thread that exits. Does nothing if the step is gone, because nothing would
 * delete its key again. */
__noinline int chain_end(__u64 key, __u64 wait_ns)
{
    __u32 step = who_number(key);
    __u64 *chain;

    if (!key || !wait_ns || !bpf_map_lookup_elem(&steps, &key))
        return 0;
    bpf_map_update_elem(&chains, &step, &wait_ns, BPF_NOEXIST);
    chain = bpf_map_lookup_elem(&chains, &step);
    if (chain && wait_ns > *chain)
        *chain = wait_ns;
    return 0;
}

#endif
