/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hooks: one line each, for the programs and for their loader.
 *   HOOK(function, operation, object, parameter, object and parameter of other kernels)
 * The parameter that leads to the super block is found by its name in the kernel's BTF, never by
 * its place; where kernels differ, the first name that the function has is taken.
 */
#ifndef JOBIO_BPF_HOOKS_H
#define JOBIO_BPF_HOOKS_H

/* What a parameter points to. */
enum hook_object {
    OBJECT_NONE,
    OBJECT_FILE,
    OBJECT_PATH,
    OBJECT_DENTRY,
    OBJECT_RENAME, /* struct renamedata */
    OBJECT_OPEN,   /* nothing of use: the file is what the function returns */
    OBJECT_REGS,   /* the registers of a system call, of which the first holds a descriptor */
};

/* What a function returns. */
enum hook_return { RETURN_LONG, RETURN_INT, RETURN_POINTER };

/* Filled in by the loader, constant for the programs. */
struct hook_slots {
    __u8 object;   /* enum hook_object */
    __u8 argument; /* its place among the arguments */
    __u8 result;   /* the place of the return value, behind the last argument */
    __u8 returns;  /* enum hook_return */
};

/* System calls have a name for each architecture. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define SYSTEM_CALLS(HOOK)                                                                         \
    HOOK(__arm64_sys_fsync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")                        \
    HOOK(__arm64_sys_fdatasync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")
#elif defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define SYSTEM_CALLS(HOOK)                                                                         \
    HOOK(__x64_sys_fsync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")                          \
    HOOK(__x64_sys_fdatasync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")
#else
#define SYSTEM_CALLS(HOOK)
#endif

/* fdatasync(2) has vfs_fsync_range inlined on 6.1, fsync(2) as well on 7.2; where one has not, the
 * call inside it is an inner one, and counts once all the same. msync(2) comes through
 * vfs_fsync_range. */
#define HOOKS(HOOK)                                                                                \
    HOOK(vfs_read, IO_READ, OBJECT_FILE, "file", OBJECT_NONE, "")                                  \
    HOOK(vfs_write, IO_WRITE, OBJECT_FILE, "file", OBJECT_NONE, "")                                \
    HOOK(vfs_readv, IO_READ, OBJECT_FILE, "file", OBJECT_NONE, "")                                 \
    HOOK(vfs_writev, IO_WRITE, OBJECT_FILE, "file", OBJECT_NONE, "")                               \
    HOOK(do_filp_open, IO_OPEN, OBJECT_OPEN, "op", OBJECT_NONE, "")                                \
    HOOK(vfs_getattr_nosec, IO_STAT, OBJECT_PATH, "path", OBJECT_NONE, "")                         \
    HOOK(iterate_dir, IO_READDIR, OBJECT_FILE, "file", OBJECT_NONE, "")                            \
    HOOK(vfs_mkdir, IO_MKDIR, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")                            \
    HOOK(vfs_rmdir, IO_RMDIR, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")                            \
    HOOK(vfs_unlink, IO_UNLINK, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")                          \
    HOOK(vfs_rename, IO_RENAME, OBJECT_RENAME, "rd", OBJECT_DENTRY, "old_dentry")                  \
    HOOK(vfs_link, IO_LINK, OBJECT_DENTRY, "old_dentry", OBJECT_NONE, "")                          \
    HOOK(vfs_symlink, IO_SYMLINK, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")                        \
    HOOK(vfs_fsync_range, IO_FSYNC, OBJECT_FILE, "file", OBJECT_NONE, "")                          \
    HOOK(do_truncate, IO_TRUNCATE, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")                       \
    SYSTEM_CALLS(HOOK)

#define HOOK_NUMBER(function, ...) HOOK_##function,
enum hook_number { HOOKS(HOOK_NUMBER) HOOK_COUNT };
#undef HOOK_NUMBER

#endif
