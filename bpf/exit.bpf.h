/* SPDX-License-Identifier: GPL-2.0 */
/* Cleanup when a task exits. */
#ifndef JOBIO_BPF_EXIT_H
#define JOBIO_BPF_EXIT_H

/* A task can have two records: with the kprobe backend, the one in `tasks` holds its faults. */
static __always_inline void exit_chains(void)
{
    const struct task_record *task = task_find();
    const struct saved_call *saved = levels.saved ? task_stored(&saved_calls) : NULL;

    if (task) {
        fill_flush(task);
        chain_end(task->who.key, task->wait.ns, task->wait.since);
    }
    if (saved)
        chain_end(saved->who.key, saved->wait.ns, saved->wait.since);
}

/* Runs in the task that exits. */
static __always_inline int on_task_exit(void *ctx, const volatile struct hook_indexes *at)
{
    __u64 self = bpf_get_current_task();
    __u32 key = task_slot_of(self);
    struct task_record *record = task_slot(key);

    exit_chains();
    if (!features.task_storage)
        bpf_map_delete_elem(&tasks, &self);
    if (record->owner != self)
        return 0;
    record->owner = 0;
    bpf_map_delete_elem(&claims, &key);
    return 0;
}

/* A task closes its files after sched_process_exit, but before it leaves its cgroup. The tracepoint
 * serves kernels whose functions cannot be hooked. */
#define on_task_gone on_task_exit

#endif
