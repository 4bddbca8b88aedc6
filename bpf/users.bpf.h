/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who reads and writes on a mount. A thread is noted where its request finds no hint
 * (bpf/counters.bpf.h), so that its later requests cost nothing; asynchronous requests have no
 * hints and look the thread up each time. User space counts the elements. If an element finds no
 * room, the mount is marked: the count is then too low.
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

/* Returns the marks of a request of this kind by the element's thread, or by any thread of its
 * process, or both. */
static __always_inline struct user_value user_marks(__u32 kind, bool thread, bool process)
{
    struct user_value marks = {};

    for (__u32 i = 0; i < IO_USER_KINDS; i++) { /* the verifier allows no index into the stack */
        marks.thread[i] = thread && i == kind;
        marks.process[i] = process && i == kind;
    }
    return marks;
}

/* Set the marks in the element of the key; creates it if needed. found: the element, NULL if there
 * is none yet. Returns false if the map or the share of the step is full. */
static __always_inline bool user_mark(__u64 step, const struct user_key *key,
                                      struct mount_record *mount, struct user_value marks,
                                      struct user_value *found)
{
    if (!found) {
        if (!user_has_room(step, mount))
            return false;
        if (!bpf_map_update_elem(&users, key, &marks, BPF_NOEXIST)) {
            share_take(step, SHARE_USERS);
            __sync_fetch_and_add(&mount->users, 1);
            return true;
        }
        found = bpf_map_lookup_elem(&users, key); /* another CPU may have created it */
    }
    for (int kind = 0; found && kind < IO_USER_KINDS; kind++) {
        if (marks.thread[kind])
            found->thread[kind] = 1;
        if (marks.process[kind])
            found->process[kind] = 1;
    }
    return found;
}

/* Note who made the request: a thread and its process. Mounts without a record of their own have no
 * users. Not static: see bpf/who.bpf.h. ids: of the process << 32 | of the thread; starts: the same
 * of the low halves of their start times. */
__noinline int users_note(__u64 step, __u64 where, __u64 ids, __u64 starts)
{
    struct user_key key = {.step = who_number(step),
                           .dev = where,
                           .id = ids,
                           .start = starts,
                           .generation = generation_of(step, where)};
    const struct mount_key at = {.step = key.step, .dev = key.dev, .generation = key.generation};
    __u32 kind = user_kind_of(where >> 32), process = ids >> 32;
    struct user_value *found = bpf_map_lookup_elem(&users, &key);
    struct mount_record *mount;
    bool has_room;

    if (kind >= IO_USER_KINDS || (found && found->thread[kind]))
        return 0;
    /* A step that is being dropped gets no new keys, because nothing would delete them again. */
    mount = bpf_map_lookup_elem(&mounts, &at);
    if (!mount || !bpf_map_lookup_elem(&steps, &step))
        return 0;
    has_room = user_mark(step, &key, mount, user_marks(kind, true, key.id == process), found);
    if (key.id != process) {
        key.id = process;
        key.start = starts >> 32;
        found = bpf_map_lookup_elem(&users, &key);
        has_room &= user_mark(step, &key, mount, user_marks(kind, false, true), found);
    }
    if (!has_room)
        mount->missed[kind] = 1;
    return 0;
}

static __always_inline __u64 user_starts(struct task_struct *task)
{
    __u64 process = BPF_CORE_READ(task, group_leader, start_time);

    return process << 32 | (__u32)BPF_CORE_READ(task, start_time);
}

static __always_inline void users_note_current(__u64 step, __u64 where)
{
    users_note(step, where, bpf_get_current_pid_tgid(), user_starts(current_task()));
}

#endif
