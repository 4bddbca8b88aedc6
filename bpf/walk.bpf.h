/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The super block to which a call's path has led so far: that of the last object found. If a name
 * does not exist, that is the directory in which it was searched. It serves calls that fail before
 * they reach a function that gets the object. It is stored in the task record when a path walk
 * ends, and only while a task of a step is in a call by path.
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

static __always_inline void walk_set_super(struct task_record *task, struct super_block *sb)
{
    task->reached = sb->s_dev;
    task->reached_sb = (__u64)sb;
}

/* terminate_walk(nd): the walk is over but still holds what it found, unless it has already passed
 * that to its caller. */
static __always_inline int on_walked(void *ctx, const volatile struct hook_indexes *at)
{
    struct nameidata *nd = (struct nameidata *)argument_at(ctx, at->argument);
    struct task_record *task = walk_of_current();
    struct dentry *found;

    if (!task)
        return 0;
    found = nd->path.dentry;
    if (task->walk == IO_LOOKUP)
        task->reported = found ? 0 : (__u64)lookup_found(nd);
    if (found)
        walk_set_super(task, found->d_sb);
    return 0;
}

/* path_parentat(..., parent, ...) returns the directory in which the last name is to be created or
 * removed. */
static __always_inline int on_found_parent(void *ctx, const volatile struct hook_indexes *at)
{
    struct task_record *task = walk_of_current();

    if (task && call_result(ctx, at) >= 0)
        walk_set_super(task, ((struct path *)argument_at(ctx, at->argument))->dentry->d_sb);
    return 0;
}

#endif
