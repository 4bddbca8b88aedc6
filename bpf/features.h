/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What not every kernel lets these programs do. Filled in by the loader, constant for the programs:
 * the verifier never sees the way that is not taken. */
#ifndef JOBIO_BPF_FEATURES_H
#define JOBIO_BPF_FEATURES_H

struct kernel_features {
    __u8 task_btf;     /* bpf_get_current_task_btf: the task's members can be read without a call */
    __u8 ancestor_id;  /* bpf_get_current_ancestor_cgroup_id */
    __u8 task_storage; /* else the map `tasks` is a hash by thread */
    __u8 int_pointers; /* arguments that point to a number can be loaded as all others (5.17 on) */
    __u8 task_regs;    /* bpf_task_pt_regs: the system call that a task is in */
    __u8 usual_calls;  /* vfs_read() and the like have their parameters in the USUAL places */
};

#endif
