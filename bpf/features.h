/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Features that not every kernel offers to these programs. The loader fills them in. They are
 * constant for the programs, so the verifier never sees the branch that is not taken. */
#ifndef JOBIO_BPF_FEATURES_H
#define JOBIO_BPF_FEATURES_H

struct kernel_features {
    __u8 task_btf;     /* bpf_get_current_task_btf: members of the task can be read directly */
    __u8 ancestor_id;  /* bpf_get_current_ancestor_cgroup_id */
    __u8 task_storage; /* if not, `tasks` is a hash by task address */
    __u8 int_pointers; /* pointers to numbers can be loaded like other arguments (since 5.17) */
    __u8 task_regs;    /* bpf_task_pt_regs: the system call registers of a task */
    __u8 compare_swap; /* atomic compare-and-swap (since 5.12) */
    __u8 usual_calls;  /* vfs_read() and the like have their parameters at the USUAL positions */
    __u8 spans;        /* not of the kernel: traces are allowed, so steps may be traced */
    __u8 own_buffers;  /* the kernel itself uses vfs_read() and the like (before 5.10) */
    __u8 lasting;      /* not of the kernel: the programs stay attached, see task_stored() */
    __u64 long_ns; /* not of the kernel: calls that take this long report their stack; 0: none */
};

#endif
