/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arrays that nearly every call reads. They are the single element of one map, so the programs'
 * instructions contain its address. A lookup of a map element would cost three times as much. All
 * objects share this map.
 */
#ifndef JOBIO_BPF_MEMORY_H
#define JOBIO_BPF_MEMORY_H

#define ORDER_LINES_LOG2 13
#define ORDER_WAYS 7
#define ORDER_OPEN_WAYS 5 /* the first ones, which are taken at the open, if that is seen */

/* Two cache lines; the first is rarely written. See bpf/order.bpf.h. */
struct order_line {
    __u64 file[ORDER_WAYS]; /* order_name(); 0: free */
    __u32 full;             /* 1: a file found no free way */
    __u32 locks;            /* number of the line's locks that could not be released */
    __u64 end[ORDER_WAYS];
    __u64 pad;
};

enum order { ORDER_UNKNOWN, ORDER_SEQUENTIAL, ORDER_RANDOM };

/*
 * A thread's last call of an operation on a super block. It saves the lookup in the hash, which
 * costs half as much as two empty programs. Slots are reused only after the generation of the set
 * of steps has changed, and hints of another generation are ignored.
 */
struct hint {
    __u32 dev;
    __u32 slot; /* the upper bits hold the operation and the shard */
};

/* File systems without a device have consecutive numbers: 20 of them do not share a hint. */
#define ACCOUNT_HINTS 20

/* A function that the task may be in, besides its outermost call. See bpf/cache.bpf.h. */
struct stage {
    __u64 frame; /* this and the next as in struct task_record */
    __u64 witness;
    __u64 sb; /* of its file; 0: use that of the page */
};

/* Pages of one super block that the task's calls have added to the page cache and that are not yet
 * in the counters. */
struct fill {
    __u64 mapping; /* its next pages are added for the same reason as the last one; 0: unknown */
    __u64 sb;      /* only for bpf_probe_read; 0: there are no such pages */
    __u32 dev;     /* its s_dev */
    __u32 fault_bytes; /* brought in by the task's fault so far */
    __u32 pages[IO_FILL_COUNT];
};

/* The state of a task that is in a step. See bpf/task.bpf.h. */
struct task_record {
    __u64 owner;   /* of the task slot: the task's address; 0: free */
    __u64 frame;   /* of the outermost call; 0: the task is in no call */
    __u64 witness; /* the argument that leads to the super block: shows that the frame is live */
    __u64 start;   /* when the call started, ns */
    struct wait wait;
    union {
        __u64 reported; /* super block of the outermost call, if an inner function reported it */
        __u64 flush_ns; /* of a flush, or of a release: the flush before it */
    };
    struct who who;
    __u64 reached_sb; /* super block that the call's path led to; only for bpf_probe_read */
    __u32 reached;    /* its s_dev; 0: none yet */
    __u16 walk;       /* enum io_op of a call whose path is being walked; 0: none */
    __u16 hook;       /* enum hook_number of the outermost call */
    __u8 argument;    /* index of the witness in the frame */
    __u8 async;       /* the task is an io_uring worker: no thread waits for it */
    __u8 missed;      /* a page was read into the page cache for the call */
    __u8 fill_kind;   /* of the last page of `fill`, enum io_fill */
    __u32 plain;      /* who.generation if a thread waits for the task's calls, else 0 */
    struct stage fault;
    union {
        struct stage prefetch;
        struct {
            __u64 pad;
            __u64 start; /* of the throttling, ns */
            __u64 frame; /* of balance_dirty_pages(); 0: the task is not in it */
        } throttle;      /* never during a prefetch; it uses no member that shows one */
    };
    struct stage kernel_read;
    __u64 fault_start;
    struct fill fill;
    struct hint hints[ACCOUNT_HINTS];
};

/* Records fill whole cache lines. */
_Static_assert(sizeof(struct order_line) == 128, "two cache lines");
_Static_assert(sizeof(struct task_record) == 384, "six cache lines");

struct memory {
    struct task_record task_slots[1 << JOBIO_TASK_SLOTS_LOG2];
    struct order_line orders[1 << ORDER_LINES_LOG2];
};

_Static_assert(sizeof(struct memory) <= 4 << 20, "5.10 does not allow larger elements");

/* An array of bytes, so that user space does not need the types. */
__u8 memory_bytes[sizeof(struct memory)] __attribute__((aligned(64)));

static __always_inline struct memory *memory(void)
{
    return (struct memory *)memory_bytes;
}

static __always_inline __u32 task_slot_of(__u64 task)
{
    return (task >> 6) * 0x9e3779b97f4a7c15ull >> (64 - JOBIO_TASK_SLOTS_LOG2);
}

/* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
static __always_inline __u32 task_bound(__u32 at)
{
    asm volatile("%0 &= %1" : "+r"(at) : "i"((1 << JOBIO_TASK_SLOTS_LOG2) - 1));
    return at;
}

static __always_inline struct task_record *task_slot(__u32 at)
{
    struct task_record *record = &memory()->task_slots[at];

    asm volatile("" : "+r"(record)); /* as in order_line() */
    return record;
}

#endif
