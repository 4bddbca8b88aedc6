/* SPDX-License-Identifier: GPL-2.0 */
/* Who runs: from the current task to the step that it belongs to. */
#ifndef JOBIO_BPF_WHO_H
#define JOBIO_BPF_WHO_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u64);
    __type(value, struct step_record);
} steps SEC(".maps");

/* Read in place: an array map of one value, that user space maps too. */
struct levels_record levels SEC(".data.levels") = {.generation = 1};

/* The step of a task, as it is kept in the task. It holds as long as the task stays in its cgroup
 * (Slurm moves tasks) and the set of steps is the same. */
struct who {
    __u64 key;        /* of `steps` */
    __u64 cgroup;     /* of v2: where the task was */
    __u32 generation; /* 0: does not hold */
    __u32 shard_mask;
};

static __always_inline __u32 who_number(__u64 key)
{
    return ((__u32)key & 0x7fffffffu) | (key & STEP_KEY_V1 ? 0x80000000u : 0);
}

/* The deepest level in the mask, which is not 0: the place of its lowest bit, counted from the top
 * (de Bruijn, because BPF has no instruction for it). */
static const volatile __u8 who_places[32] = {
    31, 30, 3,  29, 2,  17, 7,  28, 1, 9,  11, 16, 6,  14, 27, 23,
    0,  4,  18, 8,  10, 12, 15, 24, 5, 19, 13, 25, 20, 26, 21, 22,
};

static __always_inline __u32 who_deepest(__u32 mask)
{
    return who_places[((mask & -mask) * 0x077cb531u) >> 27];
}

static __always_inline bool who_is(struct who *who, __u64 key)
{
    struct step_record *step = bpf_map_lookup_elem(&steps, &key);

    if (!step)
        return false;
    who->key = key;
    who->shard_mask = step->shard_mask;
    return true;
}

static __always_inline bool who_holds(const struct who *who)
{
    return who->generation == levels.generation && who->cgroup == bpf_get_current_cgroup_id();
}

static __always_inline bool who_by_v2(struct who *who, __u32 mask)
{
    for (int i = 0; i < JOBIO_MAX_LEVELS && mask; i++, mask &= mask - 1) {
        __u64 id = bpf_get_current_ancestor_cgroup_id(who_deepest(mask));

        if (id && who_is(who, id))
            return true;
    }
    return false;
}

/* The cgroup's id at a level of its own or above. Not inlined: the compiler would move the offset
 * that this kernel lacks out of its branch, where the verifier sees it. */
static __noinline __u64 who_ancestor(struct cgroup *cgroup, __u32 level)
{
    struct cgroup *ancestor = NULL;
    struct kernfs_node *kn = NULL;
    __u64 id = 0;
    void *at;

    if (!bpf_core_field_exists(cgroup->ancestors)) {
        at = (void *)cgroup + bpf_core_field_offset(struct cgroup___ids, ancestor_ids);
        bpf_probe_read_kernel(&id, sizeof(id), at + level * sizeof(id));
        return id;
    }
    at = (void *)cgroup + bpf_core_field_offset(struct cgroup, ancestors);
    bpf_probe_read_kernel(&ancestor, sizeof(ancestor), at + level * sizeof(ancestor));
    bpf_core_read(&kn, sizeof(kn), &ancestor->kn);
    bpf_core_read(&id, sizeof(id), &kn->id);
    return id;
}

/* cgroup v1: the freezer hierarchy, in which Slurm tracks the processes of a step. */
static __always_inline bool who_by_v1(struct who *who, struct task_struct *task, __u32 mask)
{
    struct cgroup_subsys_state *css;
    struct cgroup *cgroup;
    void *at;

    if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, freezer_cgrp_id))
        return false;
    at = (void *)task->cgroups + bpf_core_field_offset(struct css_set, subsys) +
         bpf_core_enum_value(enum cgroup_subsys_id, freezer_cgrp_id) * sizeof(void *);
    css = *(struct cgroup_subsys_state **)at;
    cgroup = css->cgroup;
    for (int i = 0; i < JOBIO_MAX_LEVELS && mask; i++, mask &= mask - 1) {
        __u32 level = who_deepest(mask);

        if (level <= (__u32)cgroup->level && who_is(who, who_ancestor(cgroup, level) | STEP_KEY_V1))
            return true;
    }
    return false;
}

/* The step of the current task; the deepest tagged cgroup wins. A task outside the levels that hold
 * tagged cgroups costs no lookup. */
static __always_inline bool who_find(struct who *who, struct task_struct *task)
{
    __u32 v2 = levels.v2, v1 = levels.v1, generation = levels.generation;

    if (v2 && who_by_v2(who, v2)) {
        who->generation = generation;
        who->cgroup = bpf_get_current_cgroup_id();
    } else if (v1 && who_by_v1(who, task, v1)) {
        who->generation = 0;
    } else {
        return false;
    }
    return !(task->flags & PF_KTHREAD);
}

#endif
