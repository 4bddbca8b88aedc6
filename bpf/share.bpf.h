/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The share of a step in the maps that its tasks can fill, so that no user takes the room of others
 * (bpf/records.h). The checks are not atomic: each CPU can exceed a limit by one.
 */
#ifndef JOBIO_BPF_SHARE_H
#define JOBIO_BPF_SHARE_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u32);
    __type(value, struct share_record);
} shares SEC(".maps");

/* Set by the loader. */
const volatile struct share_limit share_limits[SHARE_KINDS] = {};

/* Initial value of an element. */
static const struct share_record share_empty;

/* Returns whether the step may take another element. Not static, like the functions below: see
 * bpf/who.bpf.h. */
__noinline bool share_has_room(__u64 step, enum share_kind kind)
{
    __u32 number = who_number(step), used = 0, beyond = 0, pool;
    const struct share_record *own = bpf_map_lookup_elem(&shares, &number);
    __s32 taken;

    if (kind >= SHARE_KINDS)
        return false;
    if (own) {
        used = own->used[kind];
        beyond = own->beyond[kind];
    }
    if (used < share_limits[kind].first)
        return true;
    taken = levels.beyond[kind];
    if (taken < 0)
        taken = 0;
    pool = share_limits[kind].pool;
    return (__u32)taken < pool && beyond * share_limits[kind].part < pool - taken;
}

/* Returns the record of the step; creates it if needed. NULL: there are more steps than the map has
 * room for. */
static __always_inline struct share_record *share_record_of(__u64 step)
{
    __u32 number = who_number(step);
    struct share_record *own = bpf_map_lookup_elem(&shares, &number);

    if (own)
        return own;
    bpf_map_update_elem(&shares, &number, &share_empty, BPF_NOEXIST);
    return bpf_map_lookup_elem(&shares, &number);
}

/* Count an element that the step has taken. */
__noinline int share_take(__u64 step, enum share_kind kind)
{
    struct share_record *own = share_record_of(step);

    if (!own || kind >= SHARE_KINDS)
        return 0;
    if (own->used[kind] >= share_limits[kind].first) {
        __sync_fetch_and_add(&own->beyond[kind], 1);
        __sync_fetch_and_add(&levels.beyond[kind], 1);
    }
    __sync_fetch_and_add(&own->used[kind], 1);
    return 0;
}

/* Undo share_take(), of a kind whose `first` is 0. */
__noinline int share_give(__u64 step, enum share_kind kind)
{
    __u32 number = who_number(step);
    struct share_record *own = bpf_map_lookup_elem(&shares, &number);

    if (!own || kind >= SHARE_KINDS || !own->used[kind])
        return 0;
    __sync_fetch_and_add(&own->used[kind], -1);
    __sync_fetch_and_add(&own->beyond[kind], -1);
    __sync_fetch_and_add(&levels.beyond[kind], -1);
    return 0;
}

/* The step is about to get a key of IO_DEV_OTHER. */
__noinline int share_aggregate(__u64 step)
{
    struct share_record *own = share_record_of(step);

    if (own)
        __sync_fetch_and_add(&own->aggregated, 1);
    __sync_fetch_and_add(&levels.aggregated[who_number(step) % JOBIO_AGGREGATED], 1);
    return 0;
}

/* Returns false if the step has no key of IO_DEV_OTHER. Costs no lookup. */
static __always_inline bool share_may_aggregate(__u64 step)
{
    return levels.aggregated[who_number(step) % JOBIO_AGGREGATED];
}

#endif
