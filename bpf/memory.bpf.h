/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What nearly each call looks into: arrays that are the one element of one map, because then its
 * address stands in the programs' instructions. To look the element of a map up would cost three
 * times as much. All objects have the same one.
 */
#ifndef JOBIO_BPF_MEMORY_H
#define JOBIO_BPF_MEMORY_H

#define ORDER_LINES_LOG2 13
#define ORDER_WAYS 7

/* Two cache lines: the first is seldom written. See bpf/order.bpf.h. */
struct order_line {
    __u64 file[ORDER_WAYS]; /* order_name(); 0: free */
    __u32 full;             /* 1: a file has found no room */
    __u32 locks;            /* how many of its locks could not be given back */
    __u64 end[ORDER_WAYS];
    __u64 pad;
};

enum order { ORDER_UNKNOWN, ORDER_SEQUENTIAL, ORDER_RANDOM };

/*
 * What a thread remembers of its last call of an operation: it saves the look into the hash, which
 * costs as much as half of two empty programs. Places are given anew only after the generation of
 * the set of steps has changed, and hints of another generation are not looked at.
 */
struct hint {
    __u32 dev;
    __u32 place; /* in the upper bits the operation and the shard */
};

#define ACCOUNT_HINTS 11

/* What is remembered of a task that is in a step. See bpf/task.bpf.h. */
struct task_record {
    __u64 owner;   /* of the seat: the task's address; 0: free */
    __u64 frame;   /* of the outermost call; 0: in none */
    __u64 witness; /* the argument that leads to the super block: proves that the frame is alive */
    __u64 start;   /* when it began, ns */
    __u64 wait_ns; /* spent in calls since it is in this step, after chain_begin() */
    __u64 filled;  /* the start of the call for which a page was read into the page cache */
    __u64 told;    /* the super block of the outermost call, if a function inside has told it */
    struct who who;
    __u64 reached_sb; /* what the path of the call has led to, only good for bpf_probe_read */
    __u32 reached;    /* the s_dev of that; 0: to none yet */
    __u16 walk;       /* enum io_op of a call whose path is on its way; 0: there is none */
    __u16 hook;       /* enum hook_number of the outermost call */
    __u8 argument;    /* where the witness lies in the frame */
    __u8 async;       /* it is a worker of io_uring's: nobody waits for it */
    __u16 pad;
    struct hint hints[ACCOUNT_HINTS];
    __u32 plain; /* who.generation if somebody waits for the task's calls, else 0 */
};

/* Records in whole cache lines. */
_Static_assert(sizeof(struct order_line) == 128, "two cache lines");
_Static_assert(sizeof(struct task_record) == 192, "three cache lines");

struct memory {
    struct task_record seats[1 << JOBIO_SEATS_LOG2];
    struct order_line orders[1 << ORDER_LINES_LOG2];
};

#endif
