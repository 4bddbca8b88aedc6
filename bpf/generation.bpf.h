/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generation of an s_dev. Counters are keyed by s_dev, because each call has it at no cost. The
 * kernel reuses the number after an unmount, so the keys also hold a generation, which
 * distinguishes the super blocks. Hints do not need it, because no hint outlives its super block.
 */
#ifndef JOBIO_BPF_GENERATION_H
#define JOBIO_BPF_GENERATION_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, JOBIO_GENERATIONS);
    __type(key, __u32);
    __type(value, struct generation_record);
} lives SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, struct mount_key);
    __type(value, struct mount_record);
} mounts SEC(".maps");

static __always_inline struct generation_record *generation_find(__u32 dev)
{
    __u32 at = generation_slot(dev);

    return bpf_map_lookup_elem(&lives, &at);
}

/* Returns the generation that the step's keys hold for this s_dev. Not static: see bpf/who.bpf.h.
 */
__noinline __u32 generation_of(__u64 step, __u32 dev)
{
    struct mount_key key = {.step = who_number(step), .dev = dev};
    const struct generation_record *record = generation_find(dev);
    const struct mount_record *first;
    __u32 since;

    if (!dev || !record || !record->ended)
        return 0;
    first = bpf_map_lookup_elem(&mounts, &key);
    if (!first)
        return 0;
    since = record->ended - first->ended;
    return since < GENERATION_LATER ? since : GENERATION_LATER;
}

/* Note that a step is about to get a key for the super block. Returns how many earlier super blocks
 * had its number. */
static __always_inline __u32 generation_touch(__u32 dev)
{
    struct generation_record *record = generation_find(dev);

    if (!record)
        return 0;
    record->touched = record->ended + 1;
    return record->ended;
}

/* generic_shutdown_super(sb): the super block is no longer in use, and its number is not free yet.
 */
static __always_inline int generation_end(__u32 dev)
{
    struct generation_record *record;
    bool touched;

    if (who_has_no_steps())
        return 0;
    record = generation_find(dev);
    if (!record)
        return 0;
    touched = record->touched == record->ended + 1;
    record->ended_ns = bpf_ktime_get_ns();
    __sync_fetch_and_add(&record->ended, 1);
    if (touched)
        __sync_fetch_and_add(&levels.generation, 1);
    return 0;
}

#define on_unmounted(ctx, at) \
    generation_end(((struct super_block *)argument_at(ctx, (at)->argument))->s_dev)

#endif
