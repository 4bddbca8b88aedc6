/* SPDX-License-Identifier: GPL-2.0 */
/* What a task remembers whose calls are looked up at their begin: see bpf/saved.bpf.h. */
#ifndef JOBIO_BPF_SAVED_MAP_H
#define JOBIO_BPF_SAVED_MAP_H

struct saved_file {
    struct super_block *sb; /* only good for bpf_probe_read; NULL: not to be counted */
    __u32 dev;
    __u32 flags;  /* of the open file */
    __u64 name;   /* order_name() of a file that is read or written; 0: its order is not known */
    __u64 offset; /* where the call has its offset; 0: nowhere */
    struct file *file; /* which has it then, only good for bpf_probe_read; NULL: it has none */
};

/* What a task remembers. */
struct saved_call {
    struct who who;
    __u64 start;   /* when the call began, ns */
    __u64 wait_ns; /* spent in calls since it is in this step, after chain_begin() */
    union {
        const char *path;    /* of SYSCALL_AT: it must be empty */
        struct path *parent; /* of a function that finds one: where it puts it */
    };
    struct saved_file files[2];
    __u64 frame;   /* of a function: where it returns to on the stack; 0: in none */
    __u64 witness; /* what lies there */
    __u32 number;  /* of a system call, plus 1; 0: in none */
    __u16 walk;    /* as in struct task_record; files[0] has what the path has led to */
    __u16 trial;   /* an open that io_uring makes without waiting */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct saved_call);
} saved_calls SEC(".maps");

#endif
