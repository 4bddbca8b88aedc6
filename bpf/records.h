/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and values of the maps, shared by the BPF programs and user space. Fixed-width types and
 * explicit padding only. Any change needs a new JOBIO_LAYOUT, because maps stay pinned across an
 * upgrade of jobiod. A map is pinned as <pin directory>/<JOBIO_LAYOUT>/<its name here>,
 * `new_mounts` as sightings.
 *
 * Versions of jobio whose layouts have the same JOBIO_SHAPE read each other's maps, so that an
 * upgrade or a downgrade between them loses nothing (collector/probe/layouts.c). Nor does an
 * upgrade from JOBIO_FIRST_SHAPE or later. A change of the set of maps, of the size or a member of
 * a key or a value, or of the meaning of a number needs a new shape; a new operation at the end of
 * IO_OPS, other sizes of the maps and other programs do not.
 */
#ifndef JOBIO_BPF_RECORDS_H
#define JOBIO_BPF_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "common/io_op.h"

#ifndef JOBIO_LAYOUT /* tests build a second one */
#define JOBIO_LAYOUT 20
#endif
#define JOBIO_SHAPE 6
/* The first shape whose maps this version reads, too. */
#define JOBIO_FIRST_SHAPE 5

#define JOBIO_MAX_STEPS 8192
#define JOBIO_MAX_LEVELS 32
#define JOBIO_TASK_SLOTS_LOG2 13

/*
 * To tag a cgroup without jobiod (raw bpf(2) on the pinned maps):
 *   1. BPF_MAP_UPDATE_ELEM of `steps` with BPF_NOEXIST: step_key(id, version) -> a zeroed
 *      step_record (EEXIST: already tagged);
 *   2. mmap(2) the one value of `levels` (MAP_SHARED, one page) and call levels_add().
 * In this order, so that a program that sees the level also finds the step. A BPF_MAP_UPDATE_ELEM
 * of `levels` would undo a concurrent change by another process.
 */

/* Map `steps`, a hash: the tagged cgroup -> step_record. */
#define STEP_KEY_V1 (1ull << 63)

static inline __u64 step_key(__u64 cgroup_id, int cgroup_version)
{
    return cgroup_version == 1 ? cgroup_id | STEP_KEY_V1 : cgroup_id;
}

struct step_record {
    __u32 shard_mask; /* shards - 1, a power of two; shard = cpu & mask. And step_traced() */
    __u32 pad;
};

/* The upper bits of the shard mask, which no number of a CPU has: the step is traced
 * (span_records.h). One of the first two, and the slot in map `traces`. */
#define STEP_TRACED 0x40000000u      /* its requests and calls of MPI-IO are reported */
#define STEP_TRACED_MPI 0x20000000u  /* only its calls of MPI-IO are */
#define STEP_TRACE_PATHS 0x80000000u /* with the paths that its opens are given */
#define STEP_TRACE_SLOT 0x1fff0000u
#define STEP_TRACE_BITS (STEP_TRACED | STEP_TRACED_MPI | STEP_TRACE_PATHS | STEP_TRACE_SLOT)
#define JOBIO_MAX_TRACES 256

/* traced: STEP_TRACED or STEP_TRACED_MPI, and maybe STEP_TRACE_PATHS. */
static inline __u32 step_traced(__u32 traced, __u32 slot)
{
    return traced | slot << 16;
}

static inline __u32 step_trace_slot(__u32 shard_mask)
{
    return (shard_mask & STEP_TRACE_SLOT) >> 16;
}

/* A step number is derived from the id of the step's cgroup, so no allocator is needed and a step
 * can be tagged without jobiod. On 64-bit kernels a cgroup id is the inode number from
 * idr_alloc_cyclic() (kernfs_new_node): below 2^31, unique among live cgroups, and not reused
 * before 2^31 others were used. v1 hierarchies number their cgroups separately; the top bit marks
 * them. 0 is no step. */
static inline __u32 step_number(__u64 cgroup_id, int cgroup_version)
{
    return ((__u32)cgroup_id & 0x7fffffffu) | (cgroup_version == 1 ? 0x80000000u : 0);
}

/*
 * Map `shares`, a hash: step number -> the number of elements that the step holds in a map that its
 * tasks can fill. A step may have `first` of them whatever others do, as long as there are not more
 * steps than the maps are made for. Beyond these it takes from a pool that all steps share. If it
 * has no share left, new mounts and keys count as IO_DEV_OTHER, and new errnos as IO_ERRNO_OTHER.
 * Keys of IO_DEV_OTHER and of no mount have room of their own.
 */
enum share_kind {
    SHARE_MOUNTS,       /* of `mounts` */
    SHARE_KEYS,         /* of `places` */
    SHARE_CACHES,       /* of `caches` */
    SHARE_ERRNOS,       /* of `errnos`, except those with IO_ERRNO_OTHER */
    SHARE_OTHER_ERRNOS, /* of `errnos`, those with IO_ERRNO_OTHER */
    SHARE_AIO,          /* of `aio`: calls in flight; calls beyond the share are LOST_ASYNC */
    SHARE_USERS,        /* of `users`; without room, counts of users are lower bounds */
    SHARE_KINDS,
};

struct share_record {
    __u32 used[SHARE_KINDS];
    __u32 beyond[SHARE_KINDS]; /* those of the pool: what levels_record.beyond has for this step */
    __u32 aggregated;          /* the same for levels_record.aggregated */
    __u32 pad;                 /* to a multiple of 8 bytes */
};

/* A step may hold the free part of a pool divided by `part`. So however many steps take as much as
 * they can, there is room left for the next one: n of them leave part / (part + n). */
struct share_limit {
    __u32 first;
    __u32 pool;
    __u32 part;
};

#define JOBIO_AGGREGATED 64

/* Map `levels`, an array of one mmapable value: the depths that hold tagged cgroups. The deepest
 * level has the lowest bit, because it is looked up first. The root (level 0) is never a step. */
struct levels_record {
    __u32 v2;
    __u32 v1;
    __u32 generation; /* of the set of steps; what a task remembers is valid for one; never 0 */
    __u32 task_slots; /* 1: task slots are freed at exit, so tasks may take them (task.bpf.h) */
    __u32 spilled;    /* 1: some task has no task slot */
    __u32 least;      /* a task less deep than this in v2 is in no step; 0: unknown */
    __u32 orders;     /* 1: the freeing of open files is seen, so order is known (order.bpf.h) */
    __u32 saved;      /* 1: some task has a record in `saved_calls` (saved.bpf.h) */
    __u32 opens;      /* 1: open files get a way at their open (order.bpf.h) */
    __u32 slots;      /* of counters that were given to the programs, and slot 0; 0: none yet */
    __u32 pad[6];     /* to a cache line, because programs read the above in each call */
    /* Elements that all steps hold beyond share_limit.first. Can be below 0: a call that ends while
     * its step is dropped may be given back twice. */
    __s32 beyond[SHARE_KINDS];
    __u32 slots_taken;                  /* of counters that are not free */
    __u32 aggregated[JOBIO_AGGREGATED]; /* 0: no step with this number % JOBIO_AGGREGATED has keys
                                         * of IO_DEV_OTHER */
};

static inline __u32 level_bit(unsigned int level)
{
    return level < JOBIO_MAX_LEVELS ? 0x80000000u >> level : 0;
}

#ifndef __bpf__
/* Note that steps may have this depth. It is never undone. */
static inline void levels_add(struct levels_record *levels, unsigned int level, int cgroup_version)
{
    __u32 mine = cgroup_version == 1 ? 0 : level;
    __u32 least = __atomic_load_n(&levels->least, __ATOMIC_SEQ_CST);

    (void)__atomic_fetch_or(cgroup_version == 1 ? &levels->v1 : &levels->v2, level_bit(level),
                            __ATOMIC_SEQ_CST);
    while (mine < least && !__atomic_compare_exchange_n(&levels->least, &least, mine, 0,
                                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    (void)__atomic_fetch_add(&levels->generation, 1, __ATOMIC_SEQ_CST);
}
#endif

/* Map `lost`, a hash: step number -> what was seen but is missing from its counters. */
enum lost_cause {
    LOST_REQUESTS,  /* calls without room for counters */
    LOST_BYTES,     /* their bytes */
    LOST_ERRNOS,    /* errors that are counted but not by errno */
    LOST_LATENCIES, /* calls that are counted without their latency */
    LOST_MOUNTS,    /* super blocks that could not be announced */
    LOST_ENDS,      /* calls whose entry but not return was seen: another tracer came or went */
    LOST_ASYNC,     /* asynchronous calls whose submission found no room: not counted */
    LOST_UNSEEN,    /* asynchronous calls that ended without a readable completion */
    LOST_FILLS,     /* bytes brought into the page cache without room for counters, or in a call in
                     * which the task left its step */
    LOST_IO_URING, /* not a loss by itself: requests submitted to io_uring, on kernels where some of
                    * its hooks are missing */
    LOST_CAUSES,
};

struct lost_record {
    __u64 count[LOST_CAUSES];
};

/*
 * Slices of time, 4.3 s each: slice n starts at n << SLICE_LOG2 ns of CLOCK_MONOTONIC. For each of
 * the last slices, a step's counters have the wait of the thread that waited longest in it.
 */
#define SLICE_LOG2 32
#define SLICES 8
#define SLICE_UNIT_LOG2 20 /* 1 ms: the unit of waits in slices, which are rounded down */

/* The time that a thread spent in calls. */
struct wait {
    __u64 ns;    /* since it joined the step, plus that of the threads before it (map `chains`) */
    __u64 since; /* the slice of its last 1 ms << 32 | `ns` at the start of that slice, in units */
};

/*
 * Map `chains`, a hash: step number -> longest wait of a chain of threads that ran one after the
 * other (struct wait). It is the maximum over exited threads of a thread's own wait plus the value
 * that was here when it started. If a step finds no room, its threads start at 0.
 */
#define JOBIO_MAX_CHAINS 4096

/*
 * The counters of a step: map `places`, a hash, account_key -> the slot (__u32) of its counters in
 * map `account`, an array of chunks. A chunk is an array, which is pinned as account_<its index>
 * and which user space maps, too. Slot n is element n % ACCOUNT_CHUNK of chunk n / ACCOUNT_CHUNK;
 * slot 0 is never used. User space makes the chunks (collector/probe/slots.c). The free slots of
 * those that exist are in the stack `slots`. The counters in a free slot are 0.
 */
struct account_key {
    __u32 step;
    __u32 dev;       /* s_dev of the super block, (major << 20) | minor; 0: the call reached none */
    __u8 op;         /* enum io_op */
    __u8 generation; /* 0 is the first with this s_dev that the step used, 1 the next... */
    __u16 shard;
};

/* This generation and all later ones. They cannot be told apart, so they have no name. */
#define GENERATION_LATER 254

/* Errnos of metadata operations that have counters of their own in struct account_value. All others
 * are in the map `errnos`: an element costs a lookup in a hash. Many programs search for files
 * along a path, so many of their calls fail. */
#define COMMON_ERRNOS(X)  \
    X(1)  /* EPERM */     \
    X(2)  /* ENOENT */    \
    X(4)  /* EINTR */     \
    X(5)  /* EIO */       \
    X(11) /* EAGAIN */    \
    X(13) /* EACCES */    \
    X(17) /* EEXIST */    \
    X(20) /* ENOTDIR */   \
    X(21) /* EISDIR */    \
    X(22) /* EINVAL */    \
    X(30) /* EROFS */     \
    X(34) /* ERANGE */    \
    X(39) /* ENOTEMPTY */ \
    X(40) /* ELOOP */     \
    X(61) /* ENODATA */   \
    X(95) /* EOPNOTSUPP */

enum common_errno {
#define COMMON_ERRNO(code) COMMON_ERRNO_##code,
    COMMON_ERRNOS(COMMON_ERRNO)
#undef COMMON_ERRNO
        COMMON_ERRNO_COUNT
};

/* Counters in one cache line, then the buckets. Readers of a u32 add up its wrapping differences. A
 * mmapable array starts on a page boundary, so no two values share a cache line. */
struct account_value {
    __u64 requests;
    __u64 bytes;
    __u64 time_ns;
    __u64 max_ns;
    __u64 longest_wait_ns; /* of one thread in all its calls so far, plus the threads before it (map
                            * `chains`); the step's value is the maximum */
    union {
        __u64 uncached_bytes; /* of reads not served by the page cache alone, or bypassing it */
        __u64 throttled_ns;   /* of other operations: the part of time_ns in writeback throttling */
    };
    __u32 async_requests;
    __u32 errors;
    __u32 sequential; /* reads and writes of known order: see order.bpf.h */
    __u32 random;
    __u32 latency[IO_BUCKETS];
    union {
        __u32 size[IO_BUCKETS];           /* successful data operations */
        __u64 errnos[COMMON_ERRNO_COUNT]; /* metadata operations that failed */
    };
    /* Slice n is in slices[n % SLICES]: n << 32 | the wait of one thread in all its calls, in
     * units, with a call here at its end. It is more than a slice if the thread was waiting when
     * the slice started: the rest is the time just before. */
    __u64 slices[SLICES];
};

#define ACCOUNT_CHUNK 4096
/* User space maps this many values at once: whole pages of 4, 16 or 64 KiB. */
#define ACCOUNT_WINDOW 1024

/* Map `caches`, a hash: what a step brought into the page cache. Hits have no counter: they are the
 * bytes of the reads minus their uncached_bytes. */
struct cache_key {
    __u32 step;
    __u32 dev;
    __u16 shard;
    __u16 generation;
};

struct cache_value {
    __u64 miss_bytes; /* of buffered reads that had to fill the cache first */
    __u64 fill_bytes[IO_FILL_COUNT];
    __u64 pad[3]; /* to a cache line */
};

/* Map `errnos`, a hash -> __u64 count: errors that are not in account_value.errnos. */
struct errno_key {
    __u32 step;
    __u32 dev;
    __u8 op;
    __u8 generation;
    __u16 code; /* positive errno */
};

/* Map `mounts`, a hash: an element is created at a step's first call on a super block. The ring
 * buffer `new_mounts` reports the same key as a new mount, alone or as the start of a
 * struct new_mount_record. */
struct mount_key {
    __u32 step;
    __u32 dev;
    __u32 generation;
};

struct mount_record {
    __u32 pid; /* of the process that was seen: its /proc/PID/mountinfo names the mount */
    __u32 magic;
    __u32 ended; /* generation_record.ended of the s_dev when it was seen */
    __u32 users; /* its elements of map `users` */
    char fstype[16];
    char id[32];                /* s_id */
    __u8 missed[IO_USER_KINDS]; /* 1: some users found no room */
    __u8 pad[6];
};

/* Longest mount point that is reported, with a NUL for each name, and the most names and mounts
 * that lead to it. */
#define NEW_MOUNT_PATH 512
#define NEW_MOUNT_STEPS 48
#define NEW_MOUNT_NAME 256 /* NAME_MAX and a NUL */
#define NEW_MOUNT_SUBTYPE 32
#define NEW_MOUNT_SOURCE 256
#define NEW_MOUNT_NO_ROOT 0xffff

/* A new mount as the kernel sees it when a step first uses it, in case that it is gone before its
 * table of mounts is read. The mount point is a sequence of names, the last one first. */
struct new_mount_record {
    struct mount_key key;
    __u32 space;  /* inode number of the mount namespace of the task */
    __u16 length; /* of the mount point from the root of the namespace; 0: that is it */
    __u16 root;   /* the same from the root of the task; NEW_MOUNT_NO_ROOT: it is not below that */
    __u32 found;  /* 1: the root of the namespace was found, so `length` is valid */
    char subtype[NEW_MOUNT_SUBTYPE];
    char source[NEW_MOUNT_SOURCE];
    char path[NEW_MOUNT_PATH + NEW_MOUNT_NAME];
};

/*
 * Where a task puts the report of a new mount together (bpf/new_mount.bpf.h). A map of its own
 * instead of the ring buffer, because only that can be used by functions that the verifier checks
 * once (see bpf/who.bpf.h); in one function, it would be a third of all that the verifier checks.
 * If two tasks need the same slot at once, the second one does not report a name.
 */
#define NEW_MOUNT_SLOTS 64

struct new_mount_slot {
    __u64 mount, dentry;     /* where the walk is */
    __u64 root, root_dentry; /* of the task */
    struct new_mount_record seen;
};

/* Map `users`, a hash: the threads and processes that read or wrote on a mount of a step. A process
 * is its first thread. If that thread itself reads and writes, both have one element. */
struct user_key {
    __u32 step;
    __u32 dev;
    __u32 id;    /* of the thread in the initial namespace */
    __u32 start; /* low half of task_struct.start_time, because ids are reused */
    __u8 generation;
    __u8 pad[3];
};

struct user_value {
    __u8 thread[IO_USER_KINDS];  /* 1: the thread made such a request */
    __u8 process[IO_USER_KINDS]; /* 1: a thread of the process did */
};

/*
 * Map `lives`, an array of generations by generation_slot(s_dev): the kernel reuses the number of
 * an unmounted file system for the next one (file systems without a device get the lowest free
 * number; the next image on a loop device gets that of the device). If two numbers share a record,
 * each ends generations of the other: a step then has two keys for one super block, both with its
 * name.
 */
struct generation_record {
    __u32 ended;    /* number of earlier super blocks with this number */
    __u32 touched;  /* 1 + ended: a step has a key for the present super block */
    __u64 ended_ns; /* when the last one was shut down, CLOCK_MONOTONIC */
};

#define JOBIO_GENERATIONS 4096

static inline __u32 generation_slot(__u32 dev)
{
    return ((dev & 0xfffff) + (dev >> 20) * 977) % JOBIO_GENERATIONS;
}

/* Map `aio`, a hash: the address of a libaio call in flight -> its owner. */
struct aio_record {
    __u64 step;   /* key of `steps` */
    __u64 ids;    /* of the process << 32 | of the thread */
    __u64 starts; /* the same of the low halves of their start times */
    __u16 op;
    __u16 shard_mask;
    __u32 traced; /* STEP_TRACE_BITS of the shard mask */
};

/*
 * Memory. The counters of a key take 384 bytes, its element of `places` 48 (header) + 16 (key) + 8
 * (slot) and its bucket 16.
 * There is room for steps x mounts x 16 operations, and for a pool of extra shards (at most one per
 * CPU and JOBIO_MAX_SHARDS) for steps that run on many CPUs. With 256 CPUs:
 *   200 steps:          200 x 20 x 16 = 64,000 elements
 *   pool:                80 x 20 x 16 = 25,600
 *   account: 22 chunks x 4,096 x 384                       = 33.0 MiB, at the start 3.0
 *   slots: 22 x 4,096 x 4                                  =  0.3 MiB
 *   places: 89,600 x 96 + 131,072 buckets x 16             = 10.2 MiB, at the start 2.0
 *   steps and lost: 8,192 x (64 + 128) + 2 x 8,192 x 16    =  1.8 MiB
 *   chains: 4,096 x (72 + 16)                              =  0.3 MiB
 *   caches: 200 x 40 + 80 x 20 = 9,600 x 128 + 16,384 x 16 =  1.4 MiB
 *   errnos: 16,384 x 72 + 16,384 x 16                      =  1.4 MiB
 *   mounts: 200 x 48 = 9,600 x 136 + 16,384 x 16, ring     =  1.6 MiB
 *   shares: 8,192 x (48 + 8 + 64) + 8,192 x 16             =  1.1 MiB
 *   lives: 4,096 x 16                                      =  0.1 MiB
 *   aio: 16,384 x 88 + 16,384 x 16                         =  1.6 MiB
 *   users: 16,384 x 80 + 16,384 x 16                       =  1.5 MiB
 *   task slots: 8,192 x 384, claims: 8,192 x (64 + 16)     =  3.6 MiB
 *   orders: 8,192 x 128, locks: 1,024 x (64 + 16)          =  1.1 MiB
 * The sum is 59 MiB. If the kernel can allocate elements of hashes when they are inserted
 * (bpf_mem_alloc, since 6.1), those of `places` are, and on nodes of few CPUs those of other
 * hashes, too: see collector/probe/sizes.c. The kernel keeps up to 96 free elements for each CPU
 * and such a map, 2.3 MiB for `places` with 256 CPUs. A task in a step adds about 400 bytes if it
 * has no task slot. On kernels without task storage there is room for JOBIO_MAX_THREADS of
 * them, 6.6 MiB. Where kprobes count, the rows of bpf/maps.h take 89,600 x 16 = 1.4 MiB.
 */
#define JOBIO_DEFAULT_STEPS 200
#define JOBIO_MOUNTS 20
#define JOBIO_MOUNT_OPS 16     /* operations of a step on a mount, on average over all */
#define JOBIO_MOUNT_RECORDS 48 /* elements of `mounts` for each step */
#define JOBIO_FIRST_MOUNTS 32  /* share_limit.first of the mounts */
#define JOBIO_MAX_SHARDS 80
#define JOBIO_MAX_ERRNOS 16384
#define JOBIO_MAX_AIO 16384
#define JOBIO_MAX_USERS 16384
#define JOBIO_MOUNT_USERS 1024 /* elements of `users` for each mount of a step */
#define JOBIO_MAX_THREADS 16384
/* Of `new_mounts`; if it is full, names are missing. */
#define JOBIO_NEW_MOUNTS_BYTES (256 * 1024)

#endif
