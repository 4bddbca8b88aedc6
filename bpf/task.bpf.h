/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The record of a task that is in a step.
 *
 * The kernel's task storage always works, but one lookup costs a third as much as two empty
 * programs. So a task gets a task slot in an array, chosen by a hash of the address of its
 * task_struct. If another task has the slot, or if no program is attached to the exit of tasks,
 * where slots are freed, the record is in the task storage.
 */
#ifndef JOBIO_BPF_TASK_H
#define JOBIO_BPF_TASK_H

/* The locks of the task slots: a task inserts the slot's key before it takes the slot. Only one
 * task can insert it. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 1 << JOBIO_TASK_SLOTS_LOG2);
    __type(key, __u32);
    __type(value, __u64);
} claims SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct task_record);
} tasks SEC(".maps");

/* The initial value of a stored record. */
static const struct task_record task_empty;

/* Returns the current task's element of a map of type task storage, NULL if it has none. On kernels
 * without task storage these maps are hashes by the task's address (a thread's id may change at
 * exec), and elements are deleted when the task exits (exit.bpf.h). */
static __always_inline void *task_stored(void *map)
{
    struct task_struct *current = current_task();
    __u64 self = bpf_get_current_task();

    if (!features.task_storage)
        return bpf_map_lookup_elem(map, &self);
    /* Saves most tasks the call. But since 6.3 the verifier searches all types of the kernel for
     * this load, so it is not worth it for programs that are soon detached. */
    if (features.lasting && bpf_core_field_exists(current->bpf_storage) && !current->bpf_storage)
        return NULL;
    return bpf_task_storage_get(map, current, NULL, 0);
}

static __always_inline void *task_store(void *map, const void *empty)
{
    struct task_struct *current = current_task();
    __u64 self = bpf_get_current_task();

    if (features.task_storage)
        return bpf_task_storage_get(map, current, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!levels.task_slots)
        return NULL;
    bpf_map_update_elem(map, &self, empty, BPF_NOEXIST);
    return bpf_map_lookup_elem(map, &self);
}

/* Returns the record of the current task, NULL if it has none. */
static __always_inline struct task_record *task_find(void)
{
    __u64 self = bpf_get_current_task();
    struct task_record *record = task_slot(task_slot_of(self));

    if (record->owner == self)
        return record;
    if (!levels.spilled)
        return NULL;
    return task_stored(&tasks);
}

/* Take the current task's slot. Returns NULL if another task has it. */
static __always_inline struct task_record *task_take_slot(struct task_struct *current)
{
    __u64 self = bpf_get_current_task();
    __u32 at = task_slot_of(self);
    struct task_record *record;

    if (!levels.task_slots || bpf_map_update_elem(&claims, &at, &self, BPF_NOEXIST))
        return NULL;
    record = task_slot(task_bound(at));
    __builtin_memset(record, 0, sizeof(*record));
    record->owner = self;
    return record;
}

static __always_inline struct task_record *task_make(struct task_struct *current)
{
    struct task_record *task = task_take_slot(current);

    if (task)
        return task;
    levels.spilled = 1;
    return task_store(&tasks, &task_empty);
}

#endif
