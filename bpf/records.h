/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and user space share: keys and values of the maps. Fixed-width types and
 * explicit padding only. Any change needs a new JOBIO_LAYOUT, because maps stay pinned over an
 * upgrade of jobiod. A map is pinned as <pin folder>/<JOBIO_LAYOUT>/<its name here>.
 */
#ifndef JOBIO_BPF_RECORDS_H
#define JOBIO_BPF_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "common/io_op.h"

#define JOBIO_LAYOUT 1

#define JOBIO_MAX_STEPS 8192
#define JOBIO_MAX_LEVELS 32

/*
 * To tag a cgroup without jobiod (raw bpf(2) on the pinned maps):
 *   1. BPF_MAP_UPDATE_ELEM of `steps` with BPF_NOEXIST: step_key(id, version) -> a zeroed
 *      step_record (EEXIST: it is tagged already);
 *   2. mmap(2) the one value of `levels` (MAP_SHARED, one page) and OR level_bit(level) into v2 or
 *      v1 with __atomic_fetch_or; bits are never taken away;
 *   3. add 1 to its generation with __atomic_fetch_add.
 * In this order, so that whoever sees the level finds the step. A BPF_MAP_UPDATE_ELEM of `levels`
 * would undo what another process does at the same time.
 */

/* Map `steps`, a hash: the tagged cgroup -> step_record. */
#define STEP_KEY_V1 (1ull << 63)

static inline __u64 step_key(__u64 cgroup_id, int cgroup_version)
{
    return cgroup_version == 1 ? cgroup_id | STEP_KEY_V1 : cgroup_id;
}

struct step_record {
    __u32 shard_mask; /* shards - 1, a power of two; shard = cpu & mask */
    __u32 pad;
};

/* A step number is made from the id of the step's cgroup, so that nobody has to hand numbers out
 * and a step can be tagged without jobiod. On 64-bit kernels a cgroup id is the inode number that
 * idr_alloc_cyclic() gave (kernfs_new_node): below 2^31, never that of another live cgroup, and not
 * used again before 2^31 others were. v1 hierarchies count on their own: the top bit keeps them
 * apart. 0 is no step. */
static inline __u32 step_number(__u64 cgroup_id, int cgroup_version)
{
    return ((__u32)cgroup_id & 0x7fffffffu) | (cgroup_version == 1 ? 0x80000000u : 0);
}

/* Map `levels`, an array of one mmapable value: the depths that hold tagged cgroups. The deepest
 * level has the lowest bit, because that one is looked up first. The root (level 0) is no step. */
struct levels_record {
    __u32 v2;
    __u32 v1;
    __u32 generation; /* of the set of steps: what a task remembers of it holds for one; never 0 */
    __u32 pad;
};

static inline __u32 level_bit(unsigned int level)
{
    return level < JOBIO_MAX_LEVELS ? 0x80000000u >> level : 0;
}

/* Map `lost`, a hash: step number -> what was seen, but is not in its account. */
enum lost_cause {
    LOST_REQUESTS,  /* calls that found no room for counters */
    LOST_BYTES,     /* their bytes */
    LOST_ERRNOS,    /* errors that are counted, but not by errno */
    LOST_LATENCIES, /* calls that are counted without their time */
    LOST_MOUNTS,    /* super blocks that could not be announced */
    LOST_ENDS,      /* calls whose begin was seen, but not their end: another tracer came or went */
    LOST_CAUSES,
};

struct lost_record {
    __u64 count[LOST_CAUSES];
};

/* Map `account`, a hash: what a step did. */
struct account_key {
    __u32 step;
    __u32 dev; /* s_dev of the super block, (major << 20) | minor; 0: the call reached none */
    __u16 op;  /* enum io_op */
    __u16 shard;
};

/* Counters in one cache line, then the buckets: u32, the reader adds their wrapping differences.
 * The kernel's element header (48 bytes) and the key (16) put the value on a line of its own. */
struct account_value {
    __u64 requests;
    __u64 async_requests;
    __u64 bytes;
    __u64 errors;
    __u64 time_ns;
    __u64 max_ns;
    __u64 longest_wait_ns; /* of one thread, in all its calls so far: the step's is the maximum */
    __u64 pad;
    __u32 latency[IO_BUCKETS];
    __u32 size[IO_BUCKETS]; /* data operations that did not fail */
};

/* Map `errnos`, a hash -> __u64 count. */
struct errno_key {
    __u32 step;
    __u32 dev;
    __u16 op;
    __u16 code; /* positive errno */
};

/* Map `mounts`, a hash: made at the first call of a step on a super block. The key is also what the
 * ring buffer `sightings` hands out. */
struct mount_key {
    __u32 step;
    __u32 dev;
};

struct mount_record {
    __u32 pid; /* of the task that was seen: its /proc/PID/mountinfo names the mount */
    __u32 magic;
    char fstype[16];
    char id[32]; /* s_id */
};

/*
 * Memory. An element of `account` takes 48 (header) + 16 (key) + 320 = 384 bytes and its bucket 16.
 * Room is made for MAX steps x MOUNTS x IO_OP_COUNT elements, and for a pool of extra shards, at
 * most one a CPU and JOBIO_MAX_SHARDS, for steps that many CPUs hammer:
 *   200 steps:          200 x 20 x 24 =  96,000 elements
 *   pool, 256 CPUs:      96 x 20 x 24 =  46,080
 *   account: 142,080 x 384 + 262,144 buckets x 16          = 56.0 MiB
 *   steps and lost: 8,192 x (64 + 104) + 2 x 8,192 x 16    =  1.6 MiB
 *   errnos: 16,384 x 72 + 16,384 x 16                      =  1.4 MiB
 *   mounts: 4,096 x 112 + 4,096 x 16, ring 128 KiB         =  0.6 MiB
 * which is 60 MiB; a task in a call adds about 120 bytes.
 */
#define JOBIO_DEFAULT_STEPS 200
#define JOBIO_MOUNTS 20
#define JOBIO_MAX_SHARDS 96
#define JOBIO_MAX_ERRNOS 16384
#define JOBIO_SIGHTINGS_BYTES (128 * 1024)

#endif
