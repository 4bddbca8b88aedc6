/* SPDX-License-Identifier: GPL-2.0 */
/* Counts the errors of a step by errno. */
#ifndef JOBIO_BPF_ERRNO_H
#define JOBIO_BPF_ERRNO_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_ERRNOS);
    __type(key, struct errno_key);
    __type(value, __u64);
} errnos SEC(".maps");

/* Returns the errno that the system call returns in place of kernel-internal codes. FUSE servers
 * return arbitrary numbers. */
static __always_inline __u16 errno_of(__s64 result)
{
    switch (-result) {
    case 512:     /* ERESTARTSYS */
    case 513:     /* ERESTARTNOINTR */
    case 514:     /* ERESTARTNOHAND */
    case 516:     /* ERESTART_RESTARTBLOCK */
        return 4; /* EINTR */
    }
    return -result > IO_ERRNO_LAST ? IO_ERRNO_OTHER : -result;
}

/* Returns the address of the counters of the step's other mounts, 0 if it has none. */
static __always_inline __u64 account_other(__u64 step, __u8 op)
{
    struct account_key key = {.step = who_number(step), .dev = IO_DEV_OTHER, .op = op};
    __u32 slot = account_slot(&key);

    return slot ? address_of(account_at(slot)) : 0;
}

static __always_inline __u64 *account_find_errno(__u64 step, struct errno_key *key)
{
    __u64 *count = bpf_map_lookup_elem(&errnos, key), none = 0;
    enum share_kind kind = SHARE_ERRNOS;

    if (!count && key->code != IO_ERRNO_OTHER && !share_has_room(step, kind)) {
        key->code = IO_ERRNO_OTHER;
        count = bpf_map_lookup_elem(&errnos, key);
    }
    if (count)
        return count;
    if (key->code == IO_ERRNO_OTHER) {
        kind = SHARE_OTHER_ERRNOS;
        if (!share_has_room(step, kind))
            return NULL;
    }
    if (!bpf_map_update_elem(&errnos, key, &none, BPF_NOEXIST))
        share_take(step, kind);
    return bpf_map_lookup_elem(&errnos, key);
}

/* counters: address of the counters of the call; 0 is allowed if the step has no key of
 * IO_DEV_OTHER. */
__noinline int account_errno(__u64 step, __u64 where, __s64 result, __u64 counters)
{
    struct errno_key key = {.step = who_number(step),
                            .dev = where,
                            .op = where >> 32,
                            .generation = generation_of(step, where),
                            .code = errno_of(result)};
    __u64 *count;

    if (counters && counters == account_other(step, where >> 32)) {
        key.dev = IO_DEV_OTHER;
        key.generation = 0;
    }
    count = account_find_errno(step, &key);
    if (count)
        add(count, 1);
    else
        account_lost(step, LOST_ERRNOS, 1);
    return 0;
}

/* 1 + the index of an errno in account_value.errnos; 0: it has none. */
static const volatile __u8 common_errnos[] = {
#define COMMON_ERRNO(code) [code] = 1 + COMMON_ERRNO_##code,
    COMMON_ERRNOS(COMMON_ERRNO)
#undef COMMON_ERRNO
};

_Static_assert(COMMON_ERRNO_COUNT == 16, "account_common() says so to the verifier");

/* Returns the counter of the call's errno in its counters; NULL if it has none there. */
static __always_inline __u64 *account_common(const struct call *call, struct account_value *value)
{
    __u64 code = errno_of(call->result), at;

    asm volatile("" : "+r"(code)); /* one register, so that the verifier knows its bound */
    if (call->op < IO_OP_FIRST_META || code >= sizeof(common_errnos) || !common_errnos[code])
        return NULL;
    at = common_errnos[code] - 1;
    /* Hide the bound from the compiler, so that it keeps the check that the verifier needs. */
    asm volatile("%0 &= 15" : "+r"(at));
    return &value->errnos[at];
}

/* Count a failed call by its errno. */
static __always_inline void account_error(const struct call *call, struct account_value *value)
{
    __u64 *common = account_common(call, value), step = call->who.key;

    add_u32(&value->errors);
    if (common)
        add(common, 1);
    else
        account_errno(step, account_where(call, 0), call->result,
                      share_may_aggregate(step) ? address_of(value) : 0);
}

#endif
