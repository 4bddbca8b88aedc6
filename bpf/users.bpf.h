/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who reads and writes on a mount. A thread is noted where its request finds no hint
 * (bpf/account.bpf.h), so that its later requests cost nothing; asynchronous requests have no hints
 * and look the thread up each time. User space counts the elements. If an element finds no room,
 * the mount is marked: the count is then too low.
 *
 * A thread is identified by its id and the time when it was started, because ids are reused; a
 * process by its first thread. Each member of the value is set by a plain store of 1, so no two
 * CPUs can count twice.
 */
#ifndef JOBIO_BPF_USERS_H
#define JOBIO_BPF_USERS_H

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, JOBIO_MAX_USERS);
    __type(key, struct user_key);
    __type(value, struct user_value);
} users SEC(".maps");

/* Initial value of an element. */
static const struct user_value user_empty;

/* Returns IO_USER_KINDS if the operation neither reads nor writes data. */
static __always_inline enum io_user_kind user_kind_of(__u8 op)
{
    __u64 bit = op < IO_OP_COUNT ? 1ull << op : 0;

    return bit & IO_READS ? IO_READERS : bit & IO_WRITES ? IO_WRITERS : IO_USER_KINDS;
}

static __always_inline bool user_has_room(__u64 step, const struct mount_record *mount)
{
    return mount->users < JOBIO_MOUNT_USERS && share_has_room(step, SHARE_USERS);
}

/* Returns the element of the key, which is created if needed. NULL: there is no room. */
static __always_inline struct user_value *user_get(__u64 step, const struct user_key *key,
                                                   struct mount_record *mount)
{
    struct user_value *value = bpf_map_lookup_elem(&users, key);

    if (value || !user_has_room(step, mount))
        return value;
    if (!bpf_map_update_elem(&users, key, &user_empty, BPF_NOEXIST)) {
        share_take(step, SHARE_USERS);
        __sync_fetch_and_add(&mount->users, 1);
    }
    return bpf_map_lookup_elem(&users, key);
}

/* Note a thread and its process. Mounts without a record of their own have no users. Not static:
 * see bpf/who.bpf.h. ids: of the process << 32 | of the thread; starts: the same of the low halves
 * of their start times. */
__noinline int users_add(__u64 step, __u64 where, __u64 ids, __u64 starts)
{
    struct user_key key = {.step = who_number(step),
                           .dev = where,
                           .id = ids,
                           .start = starts,
                           .generation = generation_of(step, where)};
    const struct mount_key at = {.step = key.step, .dev = key.dev, .generation = key.generation};
    __u32 kind = user_kind_of(where >> 32);
    struct user_value *thread, *process;
    struct mount_record *mount;

    /* A step that is being dropped gets no new keys, because nothing would delete them again. */
    mount = bpf_map_lookup_elem(&mounts, &at);
    if (kind >= IO_USER_KINDS || !mount || !bpf_map_lookup_elem(&steps, &step))
        return 0;
    thread = user_get(step, &key, mount);
    if (thread)
        thread->thread[kind] = 1;
    key.id = ids >> 32;
    key.start = starts >> 32;
    process = key.id == (__u32)ids ? thread : user_get(step, &key, mount);
    if (process)
        process->process[kind] = 1;
    if (!thread || !process)
        mount->missed[kind] = 1;
    return 0;
}

/* Returns whether the thread is noted already. Parameters as of users_add(). */
static __always_inline bool user_is_known(__u64 step, __u64 where, __u64 ids, __u64 starts)
{
    struct user_key key = {.step = who_number(step),
                           .dev = where,
                           .id = ids,
                           .start = starts,
                           .generation = generation_of(step, where)};
    __u32 kind = user_kind_of(where >> 32);
    const struct user_value *value;

    if (kind >= IO_USER_KINDS)
        return true;
    value = bpf_map_lookup_elem(&users, &key);
    return value && value->thread[kind];
}

static __always_inline __u64 user_starts(struct task_struct *task)
{
    __u64 process = BPF_CORE_READ(task, group_leader, start_time);

    return process << 32 | (__u32)BPF_CORE_READ(task, start_time);
}

/* Note who made the request. Not static: see bpf/who.bpf.h. */
__noinline int users_note(__u64 step, __u64 where, __u64 ids, __u64 starts)
{
    if (!user_is_known(step, where, ids, starts))
        users_add(step, where, ids, starts);
    return 0;
}

static __always_inline void users_note_current(__u64 step, __u64 where)
{
    users_note(step, where, bpf_get_current_pid_tgid(), user_starts(current_task()));
}

#endif
