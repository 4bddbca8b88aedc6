/* SPDX-License-Identifier: GPL-2.0 */
/* The record of a task whose calls are looked up at entry: see bpf/saved.bpf.h. */
#ifndef JOBIO_BPF_SAVED_MAP_H
#define JOBIO_BPF_SAVED_MAP_H

struct saved_file {
    struct super_block *sb; /* only for bpf_probe_read; NULL: not counted */
    __u32 dev;
    __u32 flags;  /* of the open file */
    __u64 name;   /* order_name() of a file that is read or written; 0: order unknown */
    __u64 offset; /* address of the call's offset; 0: it has none */
    struct file
        *file; /* if offset is 0: the file whose f_pos is used, for bpf_probe_read; or NULL */
};

struct saved_call {
    struct who who;
    __u64 start; /* when the call started, ns */
    struct wait wait;
    union {
        const char *path;    /* of SYSCALL_AT: the call counts only if it is empty */
        struct path *parent; /* of a path lookup: where the function stores the parent */
    };
    struct saved_file files[2];
    __u64 frame;          /* of a function: the stack pointer after its return; 0: in none */
    __u64 witness;        /* the return address on the stack, see kprobe_witness() */
    __u32 number;         /* of a system call, plus 1; 0: in none */
    __u16 walk;           /* as in struct task_record; files[0] holds what the path led to */
    __u16 trial;          /* a nonblocking open, see call_is_trial() */
    __u64 path_at;        /* of an open: address of its path; 0: not wanted */
    __u64 closed;         /* address of the file that was flushed or released last */
    __u64 flush_ns;       /* the time of its flush; 0: none */
    __u64 throttle_start; /* of the writeback throttling in the call, ns; 0: none */
    __u8 written;         /* enum io_op of the function on the file that it writes */
    __u8 target;          /* index of that file */
    __u8 pad[6];
    struct hint hints[ACCOUNT_HINTS]; /* of who.generation */
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct saved_call);
} saved_calls SEC(".maps");

#endif
