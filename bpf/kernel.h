/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few kernel types that the programs look into, with the few members they use. The loader moves
 * every access to where the running kernel has the member (CO-RE), so neither a vmlinux.h nor the
 * build host's BTF is needed. Members may be missing here, never differ in name or kind.
 */
#ifndef JOBIO_BPF_KERNEL_H
#define JOBIO_BPF_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed int __s32;
typedef signed long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define NULL ((void *)0)
#define false 0
#define true 1

/* uapi/linux/bpf.h */
enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
    BPF_NOEXIST = 1,
    BPF_F_NO_PREALLOC = 1,
    BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#define PF_KTHREAD 0x00200000
#define FMODE_CREATED 0x100000
#define S_IFMT 0170000
#define S_IFREG 0100000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct file_system_type {
    const char *name;
};

struct super_block {
    __u32 s_dev;
    unsigned long s_magic;
    struct file_system_type *s_type;
    char s_id[32];
};

struct inode {
    __u16 i_mode;
    struct super_block *i_sb;
};

struct dentry {
    struct super_block *d_sb;
};

struct path {
    struct dentry *dentry;
};

struct file {
    __u32 f_mode;
    struct inode *f_inode;
};

/* 5.12 on; before, vfs_rename takes the dentry itself. */
struct renamedata {
    struct dentry *old_dentry;
};

struct kernfs_node {
    __u64 id;
};

struct cgroup {
    int level;
    struct kernfs_node *kn;
    struct cgroup *ancestors[0]; /* 6.1 on */
};

/* Before 7f203bc89eb6 ("cgroup: Replace cgroup->ancestor_ids[] with ->ancestors[]"). */
struct cgroup___ids {
    __u64 ancestor_ids[0];
};

struct cgroup_subsys_state {
    struct cgroup *cgroup;
};

struct fdtable {
    unsigned int max_fds;
    struct file **fd;
};

struct files_struct {
    struct fdtable *fdt;
};

/* The first argument of a system call. */
struct pt_regs {
#if defined(__TARGET_ARCH_x86)
    unsigned long di;
#define REGS_FIRST(regs) ((regs)->di)
#elif defined(__TARGET_ARCH_arm64)
    unsigned long orig_x0;
#define REGS_FIRST(regs) ((regs)->orig_x0)
#else
    unsigned long none;
#define REGS_FIRST(regs) (-1ul)
#endif
};

struct bpf_local_storage;

struct css_set {
    struct cgroup_subsys_state *subsys[1];
};

struct task_struct {
    unsigned int flags;
    struct files_struct *files;
    struct css_set *cgroups;
    struct bpf_local_storage *bpf_storage;
};

#pragma clang attribute pop

enum cgroup_subsys_id {
    freezer_cgrp_id = 1, /* relocated: only the name counts */
};

#endif
