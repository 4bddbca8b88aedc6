/* SPDX-License-Identifier: GPL-2.0 */
/* Adds a finished call to the counters of its step. */
#ifndef JOBIO_BPF_ACCOUNT_H
#define JOBIO_BPF_ACCOUNT_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, struct cache_key);
    __type(value, struct cache_value);
} caches SEC(".maps");

/* Initial value of an element. */
static const struct cache_value cache_empty;

_Static_assert(IO_FILL_COUNT == 4, "account_cache() and fill_add() say so to the verifier");

static __always_inline void account_time(const struct call *call, struct account_value *value)
{
    if (!call_is_timed(call))
        return;
    wait_add(call->wait, call->time_ns, value);
    raise_to(&value->max_ns, call->time_ns);
    add_u32(&value->latency[bucket_of(call->time_ns, 7)]);
}

static __always_inline struct cache_value *account_cache_make(__u64 step, struct cache_key *key,
                                                              __u64 super, __u64 bytes)
{
    struct cache_value *value;
    enum account_home home;

    if (!bpf_map_lookup_elem(&steps, &step))
        return NULL;
    home = account_super(step, key->dev, key->generation, super, 0);
    if (home == HOME_NONE)
        return NULL;
    if (home == HOME_OTHER || !share_has_room(step, SHARE_CACHES)) {
        key->dev = IO_DEV_OTHER;
        key->shard = 0;
        key->generation = 0;
    }
    if (!bpf_map_update_elem(&caches, key, &cache_empty, BPF_NOEXIST))
        share_take(step, SHARE_CACHES);
    value = bpf_map_lookup_elem(&caches, key);
    if (!value)
        account_lost(step, LOST_FILLS, bytes);
    return value;
}

/* Count bytes that a step brought into the page cache. kind: enum io_fill, or IO_FILL_COUNT for the
 * bytes of reads that missed. */
__noinline int account_cache(__u64 step, __u64 where, __u64 super, __u64 bytes, __u32 kind)
{
    struct cache_key key = {.step = who_number(step),
                            .dev = where,
                            .shard = where >> 48,
                            .generation = generation_of(step, where)};
    struct cache_value *value = bpf_map_lookup_elem(&caches, &key);

    if (!value)
        value = account_cache_make(step, &key, super, bytes);
    if (!value)
        return 0;
    if (kind >= IO_FILL_COUNT) {
        add(&value->miss_bytes, bytes);
        return 0;
    }
    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("%0 &= 3" : "+r"(kind));
    add(&value->fill_bytes[kind], bytes);
    return 0;
}

static __always_inline void account_fill(const struct call *call, __u32 kind)
{
    account_cache(call->who.key, account_where(call, account_shard(&call->who)),
                  address_of(call->sb), call->result, kind);
}

/* Count a read that was not served by the page cache alone. It is unknown for asynchronous reads
 * and reads whose entry was not seen: they count as uncached, but not as misses. */
static __always_inline void account_uncached(const struct call *call, struct account_value *value)
{
    add(&value->uncached_bytes, call->result);
    if (!call->bypassed && call_is_timed(call))
        account_fill(call, IO_FILL_COUNT);
}

static __always_inline void account_add(const struct call *call, struct account_value *value)
{
    add(&value->requests, 1);
    if (call->order == ORDER_SEQUENTIAL)
        add_u32(&value->sequential);
    else if (call->order == ORDER_RANDOM)
        add_u32(&value->random);
    if (call->async)
        add_u32(&value->async_requests);
    if (call->result < 0) {
        account_error(call, value);
    } else if (call->op < IO_OP_FIRST_META) {
        add(&value->bytes, call->result);
        add_u32(&value->size[bucket_of(call->result, 0)]);
        if (call->op == IO_READ && (call->missed || call->bypassed || !call_is_timed(call)))
            account_uncached(call, value);
    }
    account_time(call, value);
}

/* The result for a span: the errno of a failed fault is unknown. */
static __always_inline __s64 account_span_result(const struct call *call)
{
    if (call->result >= 0)
        return call->result;
    return call->op == IO_MMAP_READ || call->op == IO_MMAP_WRITE ? -IO_ERRNO_OTHER
                                                                 : -errno_of(call->result);
}

/* Report the stack of a call if its thread waited long. */
static __always_inline void account_stack(const struct call *call)
{
    if (call_is_timed(call) && stack_is_wanted(call->time_ns) && !call->again)
        stack_take(who_number(call->who.key), call->time_ns);
}

/* Report a call if its step is traced, and its stack. time_ns: with that of its flush, whose stack
 * has been reported. */
static __always_inline void account_span(const struct call *call, __u64 time_ns)
{
    bool timed = call_is_timed(call);
    __u8 flags = call->async ? SPAN_ASYNC : timed ? 0 : SPAN_UNTIMED;

    if (span_is_wanted(&call->who))
        span_request((__u64)call->pid << 32 | who_number(call->who.key),
                     span_what(&call->who, call->op, call->dev, flags), account_span_result(call),
                     timed ? time_ns : 0, call->span_at);
    account_stack(call);
}

/* Returns whether the call was counted. */
static __always_inline bool account_call(const struct call *call)
{
    struct account_value *value = account_find(call);

    if (!value)
        return false;
    account_add(call, value);
    account_span(call, call->time_ns);
    return true;
}

/* An open that created the file also counts as a create: a request without bytes or time. */
static __always_inline void account_create(const struct call *open)
{
    struct call create = {
        .who = open->who, .op = IO_CREATE, .dev = open->dev, .sb = open->sb, .hints = open->hints};
    struct account_value *value = account_find(&create);

    if (value)
        add(&value->requests, 1);
}

#endif
