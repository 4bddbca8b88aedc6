/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Threads that run one after the other wait as one. Of a script that runs 10,000 short programs no
 * thread waits for long, but at each moment one of them does. So a thread that begins goes on from
 * what the longest chain of threads before it has waited, and hands that and its own on when it
 * exits. No two calls of a chain overlap: what it has waited is a part of the time that has passed.
 */
#ifndef JOBIO_BPF_CHAIN_H
#define JOBIO_BPF_CHAIN_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_CHAINS);
    __type(key, __u32);
    __type(value, __u64);
} chains SEC(".maps");

/* What a thread begins with in the step. Not static: see bpf/who.bpf.h. */
__noinline __u64 chain_begin(__u64 key)
{
    __u32 step = who_number(key);
    __u64 *chain = bpf_map_lookup_elem(&chains, &step);

    return chain ? *chain : 0;
}

/* A thread has exited. Never for a step that is gone: nobody would take its key away again. */
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
