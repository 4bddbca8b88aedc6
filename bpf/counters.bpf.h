/* SPDX-License-Identifier: GPL-2.0 */
/* Finds the counters of a step for a finished call, and creates them. */
#ifndef JOBIO_BPF_COUNTERS_H
#define JOBIO_BPF_COUNTERS_H

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
    __uint(max_entries, JOBIO_MAX_STEPS);
    __type(key, __u32);
    __type(value, struct lost_record);
} lost SEC(".maps");

/* The s_dev of the only super block of devtmpfs, 0 if there is none. Its magic is that of tmpfs. */
const volatile __u32 devtmpfs_dev = 0;

/* Initial values of elements. */
static const struct lost_record lost_empty;

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

#endif
