/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the path of a call has led, so far: the super block of what was found last, that is of the
 * last directory that was searched when the next name is not in it. For calls that fail before any
 * function sees what they are about. It is noted in the task as its walks end, and only while a
 * step's task is in a call by path.
 */
#ifndef JOBIO_BPF_WALK_H
#define JOBIO_BPF_WALK_H

static __always_inline struct task_record *walk_of_current(void)
{
    struct task_record *task;

    if (who_has_no_steps())
        return NULL;
    task = task_find();
    return task && task->frame && task->walk ? task : NULL;
}

static __always_inline void walk_reach(struct task_record *task, struct super_block *sb)
{
    task->reached = sb->s_dev;
    task->reached_sb = (__u64)sb;
}

/* terminate_walk(nd): the walk is over, and still holds what it has found. A walk that has handed
 * it out holds nothing any more. */
static __always_inline int on_walked(void *ctx, const volatile struct hook_slots *at)
{
    struct task_record *task = walk_of_current();
    struct dentry *found;

    if (!task)
        return 0;
    found = ((struct nameidata *)slot(ctx, at->argument))->path.dentry;
    if (found)
        walk_reach(task, found->d_sb);
    return 0;
}

/* path_parentat(..., parent, ...): hands out the folder in which the last name is to be made
 * or taken away. */
static __always_inline int on_found_parent(void *ctx, const volatile struct hook_slots *at)
{
    struct task_record *task = walk_of_current();

    if (task && call_result(ctx, at) >= 0)
        walk_reach(task, ((struct path *)slot(ctx, at->argument))->dentry->d_sb);
    return 0;
}

#endif
