/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Lookups: calls that walk a path and answer from what they find (access, readlink, chdir, statfs),
 * and fchdir and fstatfs. No hooked function gets the object, so the end of the walk
 * (bpf/walk.bpf.h) reports its super block: the inode that the walk found remains in its nameidata.
 */
#ifndef JOBIO_BPF_LOOKUP_H
#define JOBIO_BPF_LOOKUP_H

/* Returns the super block that a walk has found and passed to its caller, for bpf_probe_read only.
 * It is arbitrary if the walk never started. */
static __always_inline struct super_block *lookup_found(struct nameidata *nd)
{
    return BPF_CORE_READ(nd, inode, i_sb);
}

/* Returns false if the walk may not have started: the descriptor of its directory is closed, or not
 * one of a directory. A walk that fails with these errors later still holds its last directory. */
static __always_inline bool lookup_has_started(__s64 result)
{
    return result != -EBADF && result != -ENOTDIR;
}

#endif
