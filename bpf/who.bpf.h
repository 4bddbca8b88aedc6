/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the step that a task belongs to. */
#ifndef JOBIO_BPF_WHO_H
#define JOBIO_BPF_WHO_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u64);
    __type(value, struct step_record);
} steps SEC(".maps");

/* An array map of one value. Programs read it directly, and user space maps it too. */
struct levels_record levels SEC(".data.levels")
    __attribute__((aligned(8))) = {.generation = 1, .least = JOBIO_MAX_LEVELS};

/* The step of a task, as cached in its record. It is valid while the task stays in its cgroup
 * (Slurm moves tasks) and the set of steps does not change. */
struct who {
    __u64 key;        /* of `steps` */
    __u64 cgroup;     /* the v2 cgroup that the task was in */
    __u32 generation; /* 0: not valid */
    __u32 shard_mask; /* WHO_NO_STEP: a task in that cgroup is in no step */
};

#define WHO_NO_STEP 0xffffffffu

static __always_inline __u32 who_number(__u64 key)
{
    return ((__u32)key & 0x7fffffffu) | (key & STEP_KEY_V1 ? 0x80000000u : 0);
}

/* The deepest level in the mask, which is not 0: the position of its lowest bit, counted from the
 * top (de Bruijn, because BPF has no instruction for it). */
static const volatile __u8 who_bit_positions[32] = {
    31, 30, 3,  29, 2,  17, 7,  28, 1, 9,  11, 16, 6,  14, 27, 23,
    0,  4,  18, 8,  10, 12, 15, 24, 5, 19, 13, 25, 20, 26, 21, 22,
};

static __always_inline __u32 who_deepest(__u32 mask)
{
    return who_bit_positions[((mask & -mask) * 0x077cb531u) >> 27];
}

static __always_inline bool who_fill(struct who *who, __u64 key)
{
    struct step_record *step = bpf_map_lookup_elem(&steps, &key);

    if (!step)
        return false;
    who->key = key;
    who->shard_mask = step->shard_mask;
    return true;
}

static __always_inline bool who_is_valid(const struct who *who)
{
    return who->generation == levels.generation && who->cgroup == bpf_get_current_cgroup_id();
}

/*
 * The verifier checks a function that is not static once per program, not once per path that leads
 * to it. If these were static, their loop iterations would be most of its work. For the same reason
 * there is a loop over groups of levels and one over a group, instead of one over all levels.
 */
#define WHO_GROUP 8
#define WHO_GROUP_MASK ((1u << WHO_GROUP) - 1)

/* Returns the key of the step whose cgroup is this one or its ancestor at `level`; 0 if there is
 * none. kind: STEP_KEY_V1 in v1's hierarchy, else 0. */
__noinline __u64 who_at(__u64 cgroup, __u32 level, __u64 kind)
{
    __u64 key;

    if (level > (__u32)BPF_CORE_READ((struct cgroup *)cgroup, level))
        return 0;
    key = cgroup_ancestor((struct cgroup *)cgroup, level) | kind;
    return bpf_map_lookup_elem(&steps, &key) ? key : 0;
}

/* who_at() for the deepest level in the mask, of one group, at which there is a step; 0 if there is
 * none. */
__noinline __u64 who_among(__u64 cgroup, __u32 mask, __u64 kind)
{
    __u64 key = 0;

    for (int i = 0; i < WHO_GROUP && mask && !key; i++, mask &= mask - 1)
        key = who_at(cgroup, who_deepest(mask), kind);
    return key;
}

/* The same for any mask. */
__noinline __u64 who_above(__u64 cgroup, __u32 mask, __u64 kind)
{
    __u64 key = 0;

    for (int i = 0; i < JOBIO_MAX_LEVELS && !key; i += WHO_GROUP)
        key = who_among(cgroup, mask & WHO_GROUP_MASK << i, kind);
    return key;
}

/* The same three for the current task. */
__noinline __u64 who_current_at(__u32 level)
{
    __u64 key = current_ancestor(level);

    return key && bpf_map_lookup_elem(&steps, &key) ? key : 0;
}

__noinline __u64 who_current_among(__u32 mask)
{
    __u64 key = 0;

    for (int i = 0; i < WHO_GROUP && mask && !key; i++, mask &= mask - 1)
        key = who_current_at(who_deepest(mask));
    return key;
}

__noinline __u64 who_current_above(__u32 mask)
{
    __u64 key = 0;

    for (int i = 0; i < JOBIO_MAX_LEVELS && !key; i += WHO_GROUP)
        key = who_current_among(mask & WHO_GROUP_MASK << i);
    return key;
}

/* The task's cgroup in the v1 freezer hierarchy, in which Slurm tracks the processes of a step; 0
 * if there is none. */
static __always_inline __u64 who_freezer(struct css_set *set)
{
    struct cgroup_subsys_state *css = NULL;

    if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
        return 0;
    bpf_probe_read_kernel(&css, sizeof(css),
                          (void *)set + bpf_core_field_offset(struct css_set, subsys) +
                              bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id) *
                                  sizeof(void *));
    return (__u64)BPF_CORE_READ(css, cgroup);
}

/* Find the step of the current task; the deepest tagged cgroup wins. Returns false if there is
 * none, and for kernel threads. A task outside the levels that hold tagged cgroups costs no lookup.
 */
static __always_inline bool who_find(struct who *who, struct task_struct *task)
{
    __u32 v2 = levels.v2, v1 = levels.v1, generation = levels.generation;
    /* Read the cgroup first: if the task is moved meanwhile, the result is not valid. */
    __u64 cgroup = bpf_get_current_cgroup_id(), key = v2 ? who_current_above(v2) : 0;

    if (key) {
        who->generation = generation;
        who->cgroup = cgroup;
    } else if (v1) {
        who->generation = 0;
        key = who_above(who_freezer(BPF_CORE_READ(task, cgroups)), v1, STEP_KEY_V1);
    }
    return key && who_fill(who, key) && !(TASK_READ(task, flags) & PF_KTHREAD);
}

/* True if no step was tagged since the maps were created. */
static __always_inline bool who_has_no_steps(void)
{
    return !*(const volatile __u64 *)&levels; /* v2 and v1 */
}

/* True if the current task's cgroup is less deep than every tagged one, as for most tasks outside
 * of jobs. The helper returns 0 for a level below the task's cgroup. Loads from the task would save
 * a few instructions, but since 6.3 the verifier searches the kernel's types for each of them,
 * which was half of the time to load the programs. */
static __always_inline bool who_is_outside(void)
{
    if (features.ancestor_id)
        return !bpf_get_current_ancestor_cgroup_id(levels.least);
    return (__u32)BPF_CORE_READ(current_task(), cgroups, dfl_cgrp, level) < levels.least;
}

#endif
