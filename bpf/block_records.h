/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keys and values of the maps of the programs for block requests, shared with user space. jobiod
 * pins the maps and the programs, too, under their names, so a change has the rules of
 * bpf/records.h. Versions that do not know them leave them alone.
 */
#ifndef JOBIO_BPF_BLOCK_RECORDS_H
#define JOBIO_BPF_BLOCK_RECORDS_H

#ifndef __bpf__
#include <linux/types.h>
#endif

#include "common/block_class.h"
#include "common/io_op.h"

/* A counter takes 384 bytes with its header: 1.5 MiB; the other two maps together 10 MiB. */
#define BLOCK_MAX_COUNTERS 4096
#define BLOCK_MAX_REQUESTS 65536 /* that are in progress at the same time, of all steps */

/* Submitters that are not a step. */
#define BLOCK_BY_KERNEL 0          /* a kernel thread */
#define BLOCK_BY_OTHER 0xffffffffu /* a process outside of all steps */

/* Map `block_counters`, a hash. */
struct block_counter_key {
    __u32 step; /* or BLOCK_BY_KERNEL */
    __u32 dev;  /* of the whole disk */
    __u32 class;
};

#define BLOCK_SUM_MEMBER(member) __u64 member;
struct block_counter_value {
    BLOCK_SUMS(BLOCK_SUM_MEMBER)
    __u64 latency[IO_BUCKETS]; /* of device_ns */
    char name[32];             /* of the disk */
};
#undef BLOCK_SUM_MEMBER

/* Map `block_steps`, a hash: a step whose requests are all counted -> since when, for a later
 * process. Map `block_before`, a hash: the requests of kernel threads when the step started, where
 * `dev` numbers the disks. They are complete if the step is in `block_steps`. */
struct block_step_record {
    __u64 lost; /* lost requests when it started */
};

/* Map `block_bios`, a hash: address of the bio that a request is made for -> its submitter. The
 * element is removed when the request is passed to the driver. */
struct block_bio {
    __u64 created_ns; /* CLOCK_MONOTONIC */
    __u32 step;       /* or BLOCK_BY_KERNEL */
    __u32 merged;     /* it was put in front of a request that another bio has made */
};

/* Map `block_requests`, a hash: address of a request at the driver -> what is known about it. */
struct block_request {
    __u64 created_ns, issued_ns; /* issued_ns 0: not seen */
    __u64 tail;                  /* address of its last bio: addresses of requests are reused */
    __u64 bytes;                 /* that have ended */
    __u32 step;
    __u32 failed;
};

#endif
