/* SPDX-License-Identifier: GPL-2.0 */
/* Reports a request of a traced step. */
#ifndef JOBIO_BPF_SPAN_REQUEST_H
#define JOBIO_BPF_SPAN_REQUEST_H

/* All that a span has of a request in one number, because a function that gets the address of
 * struct call would keep it out of registers, also where nothing is traced. */
static __always_inline __u64 span_what(const struct who *who, __u8 op, __u32 dev, __u8 flags)
{
    return (__u64)flags << 48 | (__u64)step_trace_slot(who->shard_mask) << 40 | (__u64)op << 32 |
           dev;
}

/* ids: the number of the step, and in the upper half the process of an asynchronous request (0: the
 * current one). result: bytes, or a negative errno. at: as in struct call. Not static: see
 * bpf/who.bpf.h. */
__noinline int span_request(__u64 ids, __u64 what, __s64 result, __u64 time_ns, __u64 at)
{
    __u32 step = ids, dev = what, pid = ids >> 32;
    __u8 op = what >> 32, slot = what >> 40, flags = what >> 48;
    __u64 path = op == IO_OPEN ? at : 0, end = op == IO_OPEN ? 0 : at;
    struct span_record *record;
    bool sized = op < IO_OP_FIRST_META && result >= 0;

    if (!features.spans) /* then nothing calls it, but the verifier would follow it */
        return 0;
    record = span_reserve(slot, step, SPAN_REQUEST, time_ns, path);
    if (!record)
        return 0;
    record->op = op;
    record->dev = dev;
    record->generation = generation_of(step_key(step & 0x7fffffff, step >> 31 ? 1 : 2), dev);
    record->error = result < 0 ? -result : 0;
    record->bytes = sized ? result : 0;
    record->offset = end - record->bytes;
    record->flags = flags | (sized ? SPAN_BYTES : 0) | (end ? SPAN_OFFSET : 0);
    if (pid) {
        record->pid = pid;
        record->tid = 0;
        __builtin_memset(record->comm, 0, sizeof(record->comm)); /* of whoever completes it */
    }
    /* A new program opens files: its environment can be read while it runs. */
    span_submit(record, op == IO_OPEN);
    return 0;
}

#endif
