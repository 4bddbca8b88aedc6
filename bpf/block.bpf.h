/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts the requests to disks and other block devices. A request is made for a bio, in the task
 * that submits it; other tasks may pass it to the driver, and an interrupt ends it. So the
 * submitter is noted by the bio until the driver gets the request, and by the request from then on.
 */
#ifndef JOBIO_BPF_BLOCK_H
#define JOBIO_BPF_BLOCK_H

#define REQ_OP_MASK 0xff
#define REQ_OP_READ 0
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2
#define REQ_OP_DISCARD 3
#define REQ_OP_SECURE_ERASE 5
#define REQ_OP_FIRST_PRIVATE 32 /* of drivers: SG_IO and the like */

#define LATENCY_UNIT_BITS 7

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, BLOCK_MAX_COUNTERS);
    __type(key, struct block_counter_key);
    __type(value, struct block_counter_value);
} block_counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, BLOCK_MAX_REQUESTS);
    __type(key, __u64);
    __type(value, struct block_bio);
} block_bios SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, BLOCK_MAX_REQUESTS);
    __type(key, __u64);
    __type(value, struct block_request);
} block_requests SEC(".maps");

/* These two are of user space alone. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u32);
    __type(value, struct block_step_record);
} block_steps SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, BLOCK_MAX_COUNTERS);
    __type(key, struct block_counter_key);
    __type(value, struct block_counter_value);
} block_before SEC(".maps");

/* Requests without room for their submitter or their counters. */
__u64 block_lost SEC(".data.block_lost") = 0;

/* Initial value of an element. */
static const struct block_counter_value block_no_requests;

static __always_inline void block_add(__u64 *counter, __u64 n)
{
    /* The compiler makes an atomic OR of adding a constant 0, which kernels before 5.12 lack. */
    asm volatile("" : "+r"(n));
    __sync_fetch_and_add(counter, n);
}

/* --- who -------------------------------------------------------------------------------------- */

/* Kernel threads write for others, which the bio's cgroup shows if the io controller is enabled for
 * it. Without it, and in v1's hierarchies, that is a cgroup above all steps, or no v2 cgroup. */
static __always_inline __u32 block_step_of_bio(const struct bio *bio, struct task_struct *current)
{
    struct cgroup *cgroup = BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup);
    __u32 v2 = levels.v2;
    __u64 key = 0;

    if (v2 && cgroup && BPF_CORE_READ(cgroup, root) == TASK_READ(current, cgroups, dfl_cgrp, root))
        key = who_above((__u64)cgroup, v2, 0);
    return key ? who_number(key) : BLOCK_BY_KERNEL;
}

static __always_inline __u32 block_submitter(const struct bio *bio)
{
    struct task_struct *current = current_task();
    struct who who = {};

    if (who_has_no_steps())
        return BLOCK_BY_OTHER;
    if (TASK_READ(current, flags) & PF_KTHREAD)
        return block_step_of_bio(bio, current);
    if (who_is_outside() || !who_find(&who, current))
        return BLOCK_BY_OTHER;
    return who_number(who.key);
}

/* The current task submits the bio, for which a request is made, or which becomes the first one of
 * another request. */
static __always_inline int block_submit(__u64 bio, bool merged)
{
    struct block_bio made = {.merged = merged};

    made.created_ns = bpf_ktime_get_ns();
    made.step = block_submitter((const struct bio *)bio);
    if (made.step == BLOCK_BY_OTHER)
        bpf_map_delete_elem(&block_bios, &bio); /* of an earlier one at this address */
    else if (bpf_map_update_elem(&block_bios, &bio, &made, BPF_ANY))
        block_add(&block_lost, 1);
    return 0;
}

/* --- the driver gets it ----------------------------------------------------------------------- */

/* Forget the bios behind one that was put in front of them, up to the one that made the request.
 * Returns when that was, or `created_ns`. */
static __always_inline __u64 block_forget_rest(__u64 bio, __u64 created_ns)
{
    struct block_bio *made;

#pragma unroll
    for (int i = 0; i < 32; i++) {
        bio = (__u64)BPF_CORE_READ((const struct bio *)bio, bi_next);
        made = bpf_map_lookup_elem(&block_bios, &bio);
        if (!made)
            break;
        created_ns = made->created_ns;
        bpf_map_delete_elem(&block_bios, &bio);
    }
    return created_ns;
}

/* The request becomes a part of another one. */
static __always_inline int block_merge(__u64 request)
{
    __u64 bio = (__u64)BPF_CORE_READ((const struct request *)request, bio);
    struct block_bio *made = bpf_map_lookup_elem(&block_bios, &bio);

    if (!made)
        return 0;
    if (made->merged)
        block_forget_rest(bio, 0);
    bpf_map_delete_elem(&block_bios, &bio);
    return 0;
}

static __always_inline void block_start(__u64 at, const struct block_bio *made, __u64 bio,
                                        __u64 tail)
{
    struct block_request request = {};

    request.created_ns = made->created_ns;
    request.issued_ns = bpf_ktime_get_ns();
    request.tail = tail;
    request.step = made->step;
    if (made->merged)
        request.created_ns = block_forget_rest(bio, request.created_ns);
    bpf_map_delete_elem(&block_bios, &bio);
    if (bpf_map_update_elem(&block_requests, &at, &request, BPF_ANY))
        block_add(&block_lost, 1);
}

static __always_inline int block_issue(__u64 at)
{
    const struct request *rq = (const struct request *)at;
    __u64 bio = (__u64)BPF_CORE_READ(rq, bio), tail = (__u64)BPF_CORE_READ(rq, biotail);
    struct block_request *request;
    struct block_bio *made;

    made = bio ? bpf_map_lookup_elem(&block_bios, &bio) : NULL;
    if (made) {
        block_start(at, made, bio, tail);
        return 0;
    }
    request = bpf_map_lookup_elem(&block_requests, &at);
    if (request && request->tail == tail)
        request->issued_ns = bpf_ktime_get_ns(); /* the driver had sent it back */
    return 0;
}

/* --- it ends ---------------------------------------------------------------------------------- */

static __always_inline struct gendisk *block_disk(const struct request *rq)
{
    struct request_queue *queue = BPF_CORE_READ(rq, q);

    if (bpf_core_field_exists(queue->disk))
        return BPF_CORE_READ(queue, disk);
    return BPF_CORE_READ((const struct request___disk *)rq, rq_disk);
}

static __always_inline __u32 block_op(const struct request *rq)
{
    return BPF_CORE_READ(rq, cmd_flags) & REQ_OP_MASK;
}

/* Returns BLOCK_CLASS_COUNT for commands of drivers. */
static __always_inline __u32 block_class_of(const struct request *rq, bool is_flush)
{
    __u32 op = block_op(rq);

    if (is_flush)
        return BLOCK_FLUSH;
    if (op == REQ_OP_DISCARD || op == REQ_OP_SECURE_ERASE)
        return BLOCK_DISCARD;
    if (op == REQ_OP_READ)
        return BLOCK_READ;
    return op & 1 && op < REQ_OP_FIRST_PRIVATE ? BLOCK_WRITE : BLOCK_CLASS_COUNT;
}

static __always_inline struct block_counter_value *
block_counter_get(const struct block_counter_key *key, const struct gendisk *disk)
{
    struct block_counter_value *value = bpf_map_lookup_elem(&block_counters, key);

    if (value)
        return value;
    bpf_map_update_elem(&block_counters, key, &block_no_requests, BPF_NOEXIST);
    value = bpf_map_lookup_elem(&block_counters, key);
    if (value)
        BPF_CORE_READ_STR_INTO(&value->name, disk, disk_name);
    return value;
}

static __always_inline void block_count_times(struct block_counter_value *value,
                                              const struct block_request *request)
{
    __u64 device_ns = bpf_ktime_get_ns() - request->issued_ns;

    block_add(&value->queued_ns, request->issued_ns - request->created_ns);
    block_add(&value->device_ns, device_ns);
    block_add(&value->latency[bucket_of(device_ns, LATENCY_UNIT_BITS)], 1);
}

static __always_inline void block_count(const struct request *rq,
                                        const struct block_request *request, bool is_flush)
{
    struct gendisk *disk = block_disk(rq);
    struct block_counter_value *value;
    struct block_counter_key key;

    key.step = request->step;
    key.dev = (__u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
    key.class = block_class_of(rq, is_flush);
    if (!disk || key.class == BLOCK_CLASS_COUNT)
        return;
    value = block_counter_get(&key, disk);
    if (!value) {
        block_add(&block_lost, 1);
        return;
    }
    if (request->failed)
        block_add(&value->errors, 1);
    block_add(&value->bytes, request->bytes);
    if (request->issued_ns)
        block_count_times(value, request);
    block_add(&value->requests, 1);
}

/* A request of which it was not seen that the driver got it. That is so for a flush, for which the
 * kernel makes a request of its own that serves several of them; if it has failed before; and if an
 * interrupt started the request while the program was running for another one, because then the
 * kernel does not run it. */
static __always_inline bool block_take_bio(const struct request *rq, struct block_request *ret)
{
    __u64 bio = (__u64)BPF_CORE_READ(rq, bio);
    struct block_bio *made = bio ? bpf_map_lookup_elem(&block_bios, &bio) : NULL;

    if (!made)
        return false;
    ret->step = made->step;
    ret->created_ns = made->created_ns;
    if (made->merged)
        ret->created_ns = block_forget_rest(bio, ret->created_ns);
    ret->tail = (__u64)BPF_CORE_READ(rq, biotail);
    bpf_map_delete_elem(&block_bios, &bio);
    return true;
}

/* `bytes` of the request have ended. If it has more, it is passed to the driver again. */
static __always_inline int block_end(__u64 at, bool failed, __u32 bytes)
{
    const struct request *rq = (const struct request *)at;
    struct block_request *found = bpf_map_lookup_elem(&block_requests, &at), request = {};
    __u32 size = BPF_CORE_READ(rq, __data_len);
    bool is_flush = false;

    if (found && found->tail == (__u64)BPF_CORE_READ(rq, biotail))
        request = *found;
    else if (block_take_bio(rq, &request))
        is_flush = !size && block_op(rq) <= REQ_OP_FLUSH;
    else
        return 0;
    if (found)
        found->tail = 0; /* in case that the kernel refuses to delete it */
    request.bytes += failed ? 0 : bytes;
    request.failed |= failed;
    if (bytes < size) {
        bpf_map_update_elem(&block_requests, &at, &request, BPF_ANY);
        return 0;
    }
    bpf_map_delete_elem(&block_requests, &at);
    if (!size && !is_flush) /* moves no data, such as a reset of a zone, whose number differs */
        return 0;
    if (is_flush)
        request.issued_ns = request.created_ns;
    block_count(rq, &request, is_flush);
    return 0;
}

#endif
