/* SPDX-License-Identifier: GPL-2.0 */
/* Adds a finished call to the counters of its step. */
#ifndef JOBIO_BPF_ACCOUNT_H
#define JOBIO_BPF_ACCOUNT_H

/* The loader sets the sizes of these maps; records.h has the arithmetic. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, struct account_key);
    __type(value, __u32);
} places SEC(".maps");

struct account_chunk {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, ACCOUNT_CHUNK);
    __uint(key_size, sizeof(__u32)); /* clang leaves out the types of inner maps */
    __uint(value_size, sizeof(struct account_value));
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __type(key, __u32);
    __array(values, struct account_chunk);
} account SEC(".maps");

/* The free slots of the chunks that exist. */
struct {
    __uint(type, BPF_MAP_TYPE_STACK);
    __uint(max_entries, 1);
    __type(value, __u32);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1);
    __type(key, struct cache_key);
    __type(value, struct cache_value);
} caches SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_ERRNOS);
    __type(key, struct errno_key);
    __type(value, __u64);
} errnos SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u32);
    __type(value, struct lost_record);
} lost SEC(".maps");

/* The s_dev of the only super block of devtmpfs, 0 if there is none. Its magic is that of tmpfs. */
const volatile __u32 devtmpfs_dev = 0;

/* Initial values of elements. */
static const struct lost_record lost_empty;
static const struct cache_value cache_empty;

/* A finished call. */
struct call {
    struct who who;
    enum io_op op;
    __u32 dev;              /* s_dev of the super block that it reached; 0: none */
    struct super_block *sb; /* that super block, only for bpf_probe_read */
    __s64 result;           /* below 0: a negative errno */
    __u64 time_ns;
    __u8 missed;        /* it had to read something into the page cache */
    bool bypassed;      /* it bypassed the page cache */
    __u8 async;         /* no thread waited, and time_ns does not count */
    bool again;         /* it was counted on its other file, too: its stack has been taken */
    __u32 order;        /* enum order, of a read or write */
    struct wait *wait;  /* of the thread; NULL: time_ns is not known */
    struct hint *hints; /* ACCOUNT_HINTS of the thread, of the generation of `who`; NULL: none */
    __u32 pid;          /* of an asynchronous call's process; 0: the current one */
    __u64 span_at;      /* for its span: of a read or write the offset of its end, of an open the
                         * address of its path; 0: unknown or not wanted */
};

/*
 * A test for each use of these two members, instead of one that sets wait or hints to NULL: the
 * verifier would walk all that follows for each of the four outcomes.
 */
static __always_inline bool call_is_timed(const struct call *call)
{
    return call->wait && !call->async;
}

static __always_inline bool call_has_hints(const struct call *call)
{
    return call->hints && call->who.generation == levels.generation;
}

/* The verifier does not allow a kernel pointer as a number; a copy through memory makes it one. */
static __always_inline __u64 address_of(const void *pointer)
{
    __u64 address;

    bpf_probe_read_kernel(&address, sizeof(address), &pointer);
    return address;
}

static __always_inline void add_u32(__u32 *counter)
{
    __sync_fetch_and_add(counter, 1);
}

/* Count n losses of this cause. Does nothing if the step is gone, because nothing would delete its
 * key again. Not static, like the functions below: see bpf/who.bpf.h. */
__noinline int account_lost(__u64 key, enum lost_cause cause, __u64 n)
{
    __u32 step = who_number(key);
    struct lost_record *record = bpf_map_lookup_elem(&lost, &step);

    if (!record) {
        if (!bpf_map_lookup_elem(&steps, &key))
            return 0;
        bpf_map_update_elem(&lost, &step, &lost_empty, BPF_NOEXIST);
        record = bpf_map_lookup_elem(&lost, &step);
    }
    if (record && cause < LOST_CAUSES)
        add(&record->count[cause], n);
    return 0;
}

static __always_inline bool is_pseudo(__u32 magic)
{
    switch (magic) {
#define CASE(magic) case magic:
        PSEUDO_MAGICS(CASE)
#undef CASE
        return true;
    }
    return false;
}

/* Note the mount. Returns 0, or below 0 if another task has noted it. */
__noinline int account_note_mount(__u64 step, __u64 where, __u64 super, __u32 pid)
{
    struct mount_key key = {.step = who_number(step), .dev = where, .generation = where >> 32};
    struct mount_record record = {.ended = generation_touch(key.dev)};
    struct super_block *sb = (struct super_block *)super;
    const char *name;

    record.magic = BPF_CORE_READ(sb, s_magic);
    record.pid = pid ? pid : bpf_get_current_pid_tgid() >> 32;
    name = BPF_CORE_READ(sb, s_type, name);
    bpf_probe_read_kernel_str(record.fstype, sizeof(record.fstype), name);
    bpf_core_read_str(record.id, sizeof(record.id), &sb->s_id);
    return bpf_map_update_elem(&mounts, &key, &record, BPF_NOEXIST);
}

/* Returns whether the mount has its own counters; if not, the step has used up its share. */
static __always_inline bool account_report_mount(__u64 step, __u64 where, __u64 super, __u32 pid)
{
    struct mount_key key = {.step = who_number(step), .dev = where, .generation = where >> 32};

    if (bpf_map_lookup_elem(&mounts, &key))
        return true;
    if (!share_has_room(step, SHARE_MOUNTS))
        return false;
    if (account_note_mount(step, where, super, pid) < 0)
        return bpf_map_lookup_elem(&mounts, &key);
    share_take(step, SHARE_MOUNTS);
    /* The current task may not share the namespace of an asynchronous call's process. */
    if (pid || key.generation == GENERATION_LATER || !new_mount_report(super, key.step, where))
        bpf_ringbuf_output(&new_mounts, &key, sizeof(key), 0); /* if full, it is listed later */
    return true;
}

enum account_home {
    HOME_NONE,  /* the super block holds no data */
    HOME_OWN,   /* it has its own counters */
    HOME_OTHER, /* it is aggregated into IO_DEV_OTHER */
};

/* Returns where the calls on a super block count. It is announced at the step's first call there.
 */
__noinline enum account_home account_super(__u64 step, __u32 dev, __u32 generation, __u64 super,
                                           __u32 pid)
{
    __u64 where = (__u64)generation << 32 | dev;

    if (is_pseudo(BPF_CORE_READ((struct super_block *)super, s_magic)) || dev == devtmpfs_dev)
        return HOME_NONE;
    return account_report_mount(step, where, super, pid) ? HOME_OWN : HOME_OTHER;
}

_Static_assert(IO_FILL_COUNT == 4, "account_cache() and fill_add() say so to the verifier");

/* Returns the counters in a slot; NULL if there is no such slot. */
static __always_inline struct account_value *account_at(__u32 slot)
{
    __u32 chunk = slot / ACCOUNT_CHUNK, at = slot % ACCOUNT_CHUNK;
    void *values = bpf_map_lookup_elem(&account, &chunk);

    return values ? bpf_map_lookup_elem(values, &at) : NULL;
}

/* Take a free slot, whose counters are empty. Returns 0 if there is none. */
static __always_inline __u32 account_take_slot(void)
{
    __u32 slot = 0;

    if (bpf_map_pop_elem(&slots, &slot))
        return 0;
    __sync_fetch_and_add(&levels.slots_taken, 1);
    return slot;
}

static __always_inline void account_give_slot(__u32 slot)
{
    if (!bpf_map_push_elem(&slots, &slot, BPF_ANY))
        __sync_fetch_and_add(&levels.slots_taken, -1);
}

/* Returns the slot of an existing key, 0 if there is none. */
static __always_inline __u32 account_slot(const struct account_key *key)
{
    const __u32 *slot = bpf_map_lookup_elem(&places, key);

    return slot ? *slot : 0;
}

/* Create the key. Returns the slot of its counters, or 0 if there is no room. */
static __always_inline __u32 account_create_key(__u64 step, const struct account_key *key)
{
    __u32 slot = account_take_slot();

    if (key->dev == IO_DEV_OTHER)
        share_aggregate(step);
    if (slot && !bpf_map_update_elem(&places, key, &slot, BPF_NOEXIST)) {
        share_take(step, SHARE_KEYS);
        return slot;
    }
    if (slot)
        account_give_slot(slot);
    return account_slot(key); /* another CPU may have created it meanwhile */
}

/* Shard, operation and s_dev of a call in one number: struct account_key without the step and the
 * generation. */
static __always_inline __u64 account_where(const struct call *call, __u32 shard)
{
    return (__u64)shard << 48 | (__u64)call->op << 32 | call->dev;
}

static __always_inline struct account_key account_key_of(__u64 step, __u64 where)
{
    return (struct account_key){.step = who_number(step),
                                .dev = where,
                                .op = where >> 32,
                                .generation = generation_of(step, where),
                                .shard = where >> 48};
}

/* Change the key to one that the step may always have: that of shard 0 if it exists, or else that
 * of the other mounts. Returns its slot, 0 if it does not exist yet. */
static __always_inline __u32 account_aggregate(struct account_key *key, enum account_home home)
{
    __u32 slot;

    key->shard = 0;
    slot = home == HOME_OWN ? account_slot(key) : 0;
    if (slot || !key->dev)
        return slot;
    key->dev = IO_DEV_OTHER;
    key->generation = 0;
    return account_slot(key);
}

/* Returns the slot of the counters of a new key. Returns 0 if the call is not counted, or if there
 * is no room; only the latter counts as a loss. */
static __always_inline __u32 account_create_counters(__u64 step, struct account_key *key,
                                                     __u64 super, __s64 result, __u32 pid)
{
    enum account_home home = HOME_OWN;
    __u32 slot = 0;

    /* A step that is being dropped gets no new keys, because nothing would delete them again. */
    if (!bpf_map_lookup_elem(&steps, &step))
        return 0;
    if (key->dev)
        home = account_super(step, key->dev, key->generation, super, pid);
    if (home == HOME_NONE)
        return 0;
    if (home == HOME_OTHER || !share_has_room(step, SHARE_KEYS))
        slot = account_aggregate(key, home);
    if (!slot)
        slot = account_create_key(step, key);
    if (!slot) {
        account_lost(step, LOST_REQUESTS, 1);
        if (key->op < IO_OP_FIRST_META && result > 0)
            account_lost(step, LOST_BYTES, result);
    }
    return slot;
}

/* Returns the slot of the counters of a call without a hint; creates the key if needed. 0: as
 * account_create_counters(). pid: of the process; 0: the current one. */
__noinline __u32 account_find_slot(__u64 step, __u64 where, __u64 super, __s64 result, __u32 pid)
{
    struct account_key key = account_key_of(step, where);
    __u32 slot = account_slot(&key);

    if (!slot)
        slot = account_create_counters(step, &key, super, result, pid);
    if (slot && !pid && key.op < IO_OP_FIRST_META)
        users_note_current(step, where);
    return slot;
}

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

/* Count a failed call by its errno. */
static __always_inline void account_error(const struct call *call, struct account_value *value)
{
    __u64 step = call->who.key;

    add_u32(&value->errors);
    account_errno(step, account_where(call, 0), call->result,
                  share_may_aggregate(step) ? address_of(value) : 0);
}

static __always_inline bool account_has_step(const struct call *call)
{
    __u64 step = call->who.key;

    return bpf_map_lookup_elem(&steps, &step);
}

static __always_inline __u32 account_shard(const struct who *who)
{
    return who->shard_mask ? bpf_get_smp_processor_id() & who->shard_mask : 0;
}

/* Returns the counters of the hint, NULL if the hint is for other counters. */
static __always_inline struct account_value *account_hinted(const struct hint *hint, enum io_op op,
                                                            __u32 dev, __u32 shard)
{
    __u32 slot = hint->slot ^ hint_tag(op, shard) << HINT_BITS;

    if (hint->dev != dev || slot >> HINT_BITS || !slot)
        return NULL;
    return account_at(slot);
}

/* Returns the counters of a call; creates them if needed. NULL if the call is not counted or there
 * is no room. */
static __always_inline struct account_value *account_find(const struct call *call)
{
    __u32 shard = account_shard(&call->who), slot;
    struct account_value *value;
    struct hint *hint = NULL;

    if (call_has_hints(call)) {
        hint = hint_of(call->hints, call->op, call->dev);
        value = account_hinted(hint, call->op, call->dev, shard);
        if (value)
            return value;
    } else if (!account_has_step(call)) {
        /* A slot is valid only while its step exists. Hints ensure that by their generation;
         * without them, the map shows it. */
        return NULL;
    }
    slot = account_find_slot(call->who.key, account_where(call, shard), address_of(call->sb),
                             call->result, call->pid);
    if (!slot)
        return NULL;
    if (hint && slot < 1 << HINT_BITS)
        *hint =
            (struct hint){.dev = call->dev, .slot = hint_tag(call->op, shard) << HINT_BITS | slot};
    return account_at(slot);
}

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
