/* SPDX-License-Identifier: GPL-2.0 */
/* Access to the current task, also on kernels without helpers for it (5.10 has none of `features`).
 */
#ifndef JOBIO_BPF_CURRENT_H
#define JOBIO_BPF_CURRENT_H

const volatile struct kernel_features features = {};

/* Use the result only with TASK_READ, and with helpers that `features` allows. */
static __always_inline struct task_struct *current_task(void)
{
    if (features.task_btf)
        return bpf_get_current_task_btf();
    return (struct task_struct *)bpf_get_current_task();
}

#define ARROW_1(a) ->a
#define ARROW_2(a, b) ->a->b
#define ARROW_3(a, b, c) ->a->b->c
#define ARROW(a, b, c, n, ...) n
/* Read a member by its path: TASK_READ(task, cgroups, dfl_cgrp) is task->cgroups->dfl_cgrp. */
#define TASK_READ(task, ...)                                                              \
    (features.task_btf ? (task)ARROW(__VA_ARGS__, ARROW_3, ARROW_2, ARROW_1)(__VA_ARGS__) \
                       : BPF_CORE_READ(task, __VA_ARGS__))

/* Read a member, by its path, of a kernel object whose address is a plain number for the verifier.
 * bpf/cast.bpf.h defines a faster one. */
#ifndef OBJECT_READ
#define OBJECT_READ(object, ...) BPF_CORE_READ(object, __VA_ARGS__)
#endif

/* Returns the id of the cgroup's ancestor at `level`, at most its own level. Not inlined: the
 * compiler would move the offset that this kernel lacks out of its branch, and the verifier would
 * see it. */
static __noinline __u64 cgroup_ancestor(struct cgroup *cgroup, __u32 level)
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

/* Returns the id of the current task's v2 cgroup or its ancestor at `level`; 0 if the task's cgroup
 * is less deep. */
static __always_inline __u64 current_ancestor(__u32 level)
{
    struct cgroup *cgroup;

    if (features.ancestor_id)
        return bpf_get_current_ancestor_cgroup_id(level);
    cgroup = BPF_CORE_READ(current_task(), cgroups, dfl_cgrp);
    return level <= (__u32)BPF_CORE_READ(cgroup, level) ? cgroup_ancestor(cgroup, level) : 0;
}

#endif
