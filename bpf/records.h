/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the BPF programs and user space share: keys and values of the maps. Fixed-width types and
 * explicit padding only. Any change needs a new JOBIO_LAYOUT, because maps stay pinned over an
 * upgrade of jobiod.
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

/* A step number is made from the id of the step's cgroup, so that nobody has to hand numbers out
 * and a step can be tagged without jobiod. On 64-bit kernels a cgroup id is the inode number that
 * idr_alloc_cyclic() gave (kernfs_new_node): below 2^31, never that of another live cgroup, and not
 * used again before 2^31 others were. v1 hierarchies count on their own: the top bit keeps them
 * apart. 0 is no step. */
static inline __u32 step_number(__u64 cgroup_id, int cgroup_version)
{
    return ((__u32)cgroup_id & 0x7fffffffu) | (cgroup_version == 1 ? 0x80000000u : 0);
}

/* Map `steps`: cgroup id -> the step. v1 ids have bit 63 set in the key. */
#define STEP_KEY_V1 (1ull << 63)

enum lost_cause {
    LOST_MAP_FULL,   /* no room for the counters of a call: requests */
    LOST_MAP_BYTES,  /* the same: bytes */
    LOST_ERRNO,      /* an error is counted, its errno is not */
    LOST_LATENCY,    /* a call is counted, its time is not */
    LOST_MOUNT,      /* a mount that could not be announced */
    LOST_CAUSES,
};

struct step_record {
    __u32 step;
    __u32 shard_mask; /* shards - 1, a power of two; shard = cpu & mask */
    __u64 longest_wait_ns;
    __u64 events;
    __u64 lost[LOST_CAUSES];
};

/* Map `levels` (one entry): which depths hold tagged cgroups, bit 1 << level. */
struct levels_record {
    __u32 v2;
    __u32 v1;
};

/* Map `account`. */
struct account_key {
    __u32 step;
    __u32 dev; /* s_dev as user space prints it: (major << 20) | minor */
    __u16 op;  /* enum io_op */
    __u16 shard;
};

/* 64 bytes that one cache line holds, then the buckets: u32, the reader adds their wrapping
 * differences. */
struct account_value {
    __u64 requests;
    __u64 async_requests;
    __u64 bytes;
    __u64 errors;
    __u64 time_ns;
    __u64 max_ns;
    __u64 pad[2];
    __u32 latency[IO_BUCKETS];
    __u32 size[IO_BUCKETS];
};

/* Map `errnos` -> __u64 count. */
struct errno_key {
    __u32 step;
    __u32 dev;
    __u16 op;
    __u16 code; /* positive errno */
};

/* Map `mounts`: made at the first call of a step on a super block. */
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

#endif
