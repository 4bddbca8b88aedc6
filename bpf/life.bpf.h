/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The generation (life) of an s_dev. Counters are keyed by s_dev, because each call has it at no
 * cost. The kernel reuses the number after an unmount, so the keys also hold a generation, which
 * tells the super blocks apart. Hints do not need it: no hint outlives its super block.
 */
#ifndef JOBIO_BPF_LIFE_H
#define JOBIO_BPF_LIFE_H

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, JOBIO_LIVES);
    __type(key, __u32);
    __type(value, struct life_record);
} lives SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, struct mount_key);
    __type(value, struct mount_record);
} mounts SEC(".maps");

static __always_inline struct life_record *life_find(__u32 dev)
{
    __u32 at = life_slot(dev);

    return bpf_map_lookup_elem(&lives, &at);
}

/* Returns the generation that the step's keys hold for this s_dev. Not static: see bpf/who.bpf.h.
 */
__noinline __u32 life_of(__u64 step, __u32 dev)
{
    struct mount_key key = {.step = who_number(step), .dev = dev};
    const struct life_record *life = life_find(dev);
    const struct mount_record *first;
    __u32 since;

    if (!dev || !life || !life->ended)
        return 0;
    first = bpf_map_lookup_elem(&mounts, &key);
    if (!first)
        return 0;
    since = life->ended - first->ended;
    return since < LIFE_LATER ? since : LIFE_LATER;
}

/* Note that a step is about to get a key for the super block. Returns how many earlier super blocks
 * had its number. */
static __always_inline __u32 life_touch(__u32 dev)
{
    struct life_record *life = life_find(dev);

    if (!life)
        return 0;
    life->touched = life->ended + 1;
    return life->ended;
}

/* generic_shutdown_super(sb): the super block is no longer in use, and its number is not free yet.
 */
static __always_inline int life_end(__u32 dev)
{
    struct life_record *life;
    bool touched;

    if (who_has_no_steps())
        return 0;
    life = life_find(dev);
    if (!life)
        return 0;
    touched = life->touched == life->ended + 1;
    life->ended_ns = bpf_ktime_get_ns();
    __sync_fetch_and_add(&life->ended, 1);
    if (touched)
        __sync_fetch_and_add(&levels.generation, 1);
    return 0;
}

#define on_unmounted(ctx, at) life_end(((struct super_block *)slot(ctx, (at)->argument))->s_dev)

#endif
