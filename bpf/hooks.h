/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The hooks, one line each, for the programs and the loader.
 *   HOOK(function, operation, object, parameter, object and parameter of other kernels)
 *     a call: one program at its entry (enter_function) and one at its return (leave_function)
 *   EXTRA(function, operation, feature, object, parameter, object and parameter of other kernels)
 *     the same for calls that the operation's own hook misses, always or on some kernels
 *   EVENT(name, section, operations, feature, object, parameter, object and parameter of other
 *     kernels, second parameter)
 *     one program (event_name), which calls on_name()
 *   TRANSFER(function, operation on the source, operation on the target, source, target, feature)
 *     a call that moves data between two files: programs as for a HOOK, in
 *     bpf/transfer.bpf.h; a side whose parameter is "" is ignored
 *   STAGE(function, operations, feature, object, parameter)
 *     a function that a task may be in besides its calls: programs as for a HOOK, which call
 *     function_enter() and function_leave()
 * Parameters are found by their name in the kernel's BTF, never by their position. If kernels use
 * different names, the first name that the function has is taken. "" means none. A feature is
 * an interface that not every process uses ("io_uring"): without the hook, the operation still
 * counts all other calls.
 */
#ifndef JOBIO_BPF_HOOKS_H
#define JOBIO_BPF_HOOKS_H

/* What a parameter points to. */
enum hook_object {
    OBJECT_NONE,
    OBJECT_FILE,
    OBJECT_PATH,
    OBJECT_DENTRY,
    OBJECT_RENAME,   /* struct renamedata */
    OBJECT_OPEN,     /* the parameter is unused: the function returns the file */
    OBJECT_WALK,     /* the parameter is unused: the function walks a path to the object */
    OBJECT_FOUND,    /* the same, but only the walk itself gets the object */
    OBJECT_FD,       /* a descriptor */
    OBJECT_REGS,     /* registers of a system call whose first argument is a descriptor */
    OBJECT_REGS_32,  /* the same of a 32-bit program */
    OBJECT_REPORTED, /* the parameter is unused: an inner function reports the super block */
    OBJECT_NUMBER,   /* not a pointer */
    OBJECT_FAULT,    /* struct vm_fault */
    OBJECT_FOLIO,
    OBJECT_PAGE, /* before folios */
    OBJECT_ANY,
};

/* What a function returns. */
enum hook_return { RETURN_LONG, RETURN_INT, RETURN_POINTER };

/* Indexes of a hook's arguments. Filled in by the loader, constant for the programs. */
struct hook_indexes {
    __u8 object;        /* enum hook_object */
    __u8 argument;      /* index of the first parameter */
    __u8 opaque;        /* the verifier refuses to load the first parameter */
    __u8 second;        /* index of the second parameter; HOOK_NO_INDEX: this kernel has none */
    __u8 result;        /* index of the return value: the number of arguments */
    __u8 returns;       /* enum hook_return */
    __u8 target;        /* index of the file that is written; HOOK_NO_INDEX: none */
    __u8 offset;        /* index of the pointer to the offset of the file that is read or written */
    __u8 target_offset; /* the same for the file that a transfer writes */
};

#define HOOK_NO_INDEX 0xff

/* A hook, for the two programs that all kprobes share. The cookie of the link is the hook's number
 * and selects the entry. Filled in by the loader. */
struct kprobe_entry {
    struct hook_indexes at;
    __u8 op;   /* enum io_op */
    __u8 to;   /* the operation on the second file; IO_OP_COUNT: none */
    __u8 role; /* enum kprobe_role */
};

enum kprobe_role {
    KPROBE_CALL,
    KPROBE_RELEASE, /* this and the next: see bpf/close.bpf.h */
    KPROBE_FLUSH,
    KPROBE_WALKED, /* this and the next follow the path of a call, as in bpf/walk.bpf.h */
    KPROBE_PARENT,
    KPROBE_THROTTLE, /* see bpf/throttle.bpf.h */
};

/* Larger than every hook number; a power of two. */
#define KPROBE_ENTRIES 128

/* The names of system call functions differ by architecture. In the BTF of 5.10 and 6.12, flock(2)
 * has the parameter of the stub for system calls that a kernel lacks. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define SYSTEM_CALLS(HOOK)                                                         \
    HOOK(__arm64_sys_fsync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")        \
    HOOK(__arm64_sys_fdatasync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")    \
    HOOK(__arm64_sys_flock, IO_LOCK, OBJECT_REGS, "regs", OBJECT_REGS, "__unused") \
    HOOK(__arm64_sys_chdir, IO_LOOKUP, OBJECT_FOUND, "regs", OBJECT_NONE, "")      \
    HOOK(__arm64_sys_fchdir, IO_LOOKUP, OBJECT_REGS, "regs", OBJECT_NONE, "")
#elif defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define SYSTEM_CALLS(HOOK)                                                              \
    HOOK(__x64_sys_fsync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")               \
    HOOK(__x64_sys_fdatasync, IO_FSYNC, OBJECT_REGS, "regs", OBJECT_NONE, "")           \
    HOOK(__ia32_sys_fsync, IO_FSYNC, OBJECT_REGS_32, "regs", OBJECT_NONE, "")           \
    HOOK(__ia32_sys_fdatasync, IO_FSYNC, OBJECT_REGS_32, "regs", OBJECT_NONE, "")       \
    HOOK(__x64_sys_flock, IO_LOCK, OBJECT_REGS, "regs", OBJECT_REGS, "__unused")        \
    HOOK(__ia32_sys_flock, IO_LOCK, OBJECT_REGS_32, "regs", OBJECT_REGS_32, "__unused") \
    HOOK(__x64_sys_chdir, IO_LOOKUP, OBJECT_FOUND, "regs", OBJECT_NONE, "")             \
    HOOK(__x64_sys_fchdir, IO_LOOKUP, OBJECT_REGS, "regs", OBJECT_NONE, "")             \
    HOOK(__ia32_sys_fchdir, IO_LOOKUP, OBJECT_REGS_32, "regs", OBJECT_NONE, "")
#else
#define SYSTEM_CALLS(HOOK)
#endif

/* do_fchmodat is inlined into these on 6.12. Where it is not, it is an inner call. chdir(2) of
 * 32-bit programs has no other function either. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define PATH_CALLS(EXTRA)                                                                          \
    EXTRA(__arm64_sys_chmod, IO_SETATTR, "chmod that fails", OBJECT_WALK, "regs", OBJECT_NONE, "") \
    EXTRA(__arm64_sys_fchmodat, IO_SETATTR, "chmod that fails", OBJECT_WALK, "regs", OBJECT_NONE,  \
          "")
#elif defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#define PATH_CALLS(EXTRA)                                                                        \
    EXTRA(__x64_sys_chmod, IO_SETATTR, "chmod that fails", OBJECT_WALK, "regs", OBJECT_NONE, "") \
    EXTRA(__x64_sys_fchmodat, IO_SETATTR, "chmod that fails", OBJECT_WALK, "regs", OBJECT_NONE,  \
          "")                                                                                    \
    EXTRA(__ia32_sys_chdir, IO_LOOKUP, "32-bit programs", OBJECT_FOUND, "regs", OBJECT_NONE, "") \
    EXTRA(__ia32_sys_chmod, IO_SETATTR, "32-bit programs", OBJECT_WALK, "regs", OBJECT_NONE, "") \
    EXTRA(__ia32_sys_fchmodat, IO_SETATTR, "32-bit programs", OBJECT_WALK, "regs", OBJECT_NONE, "")
#else
#define PATH_CALLS(EXTRA)
#endif

/* vfs_fsync_range is inlined into fdatasync(2) on 6.1, and into fsync(2) as well on 7.2. Where it
 * is not, it is an inner call, so the system call still counts once. msync(2) uses vfs_fsync_range.
 * vfs_rmdir is inlined into rmdir(2) on 5.10. */
#define HOOKS(HOOK)                                                               \
    HOOK(vfs_read, IO_READ, OBJECT_FILE, "file", OBJECT_NONE, "")                 \
    HOOK(vfs_write, IO_WRITE, OBJECT_FILE, "file", OBJECT_NONE, "")               \
    HOOK(vfs_readv, IO_READ, OBJECT_FILE, "file", OBJECT_NONE, "")                \
    HOOK(vfs_writev, IO_WRITE, OBJECT_FILE, "file", OBJECT_NONE, "")              \
    HOOK(do_filp_open, IO_OPEN, OBJECT_OPEN, "op", OBJECT_NONE, "")               \
    HOOK(vfs_getattr_nosec, IO_STAT, OBJECT_PATH, "path", OBJECT_NONE, "")        \
    HOOK(iterate_dir, IO_READDIR, OBJECT_FILE, "file", OBJECT_NONE, "")           \
    HOOK(vfs_mkdir, IO_MKDIR, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")           \
    HOOK(vfs_rmdir, IO_RMDIR, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")           \
    HOOK(do_rmdir, IO_RMDIR, OBJECT_REPORTED, "dfd", OBJECT_NONE, "")             \
    HOOK(vfs_unlink, IO_UNLINK, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")         \
    HOOK(vfs_rename, IO_RENAME, OBJECT_RENAME, "rd", OBJECT_DENTRY, "old_dentry") \
    HOOK(vfs_link, IO_LINK, OBJECT_DENTRY, "old_dentry", OBJECT_NONE, "")         \
    HOOK(vfs_symlink, IO_SYMLINK, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")       \
    HOOK(vfs_fsync_range, IO_FSYNC, OBJECT_FILE, "file", OBJECT_NONE, "")         \
    HOOK(do_truncate, IO_TRUNCATE, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")      \
    HOOK(vfs_create, IO_MKNOD, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")          \
    HOOK(vfs_mknod, IO_MKNOD, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")           \
    HOOK(vfs_fallocate, IO_FALLOCATE, OBJECT_FILE, "file", OBJECT_NONE, "")       \
    HOOK(chmod_common, IO_SETATTR, OBJECT_PATH, "path", OBJECT_NONE, "")          \
    HOOK(chown_common, IO_SETATTR, OBJECT_PATH, "path", OBJECT_NONE, "")          \
    HOOK(vfs_utimes, IO_SETATTR, OBJECT_PATH, "path", OBJECT_NONE, "")            \
    HOOK(do_getxattr, IO_GETXATTR, OBJECT_DENTRY, "d", OBJECT_NONE, "")           \
    HOOK(listxattr, IO_GETXATTR, OBJECT_DENTRY, "d", OBJECT_NONE, "")             \
    HOOK(do_setxattr, IO_SETXATTR, OBJECT_DENTRY, "dentry", OBJECT_DENTRY, "d")   \
    HOOK(vfs_removexattr, IO_SETXATTR, OBJECT_DENTRY, "dentry", OBJECT_NONE, "")  \
    HOOK(fcntl_setlk, IO_LOCK, OBJECT_FILE, "filp", OBJECT_NONE, "")              \
    HOOK(fcntl_getlk, IO_LOCK, OBJECT_FILE, "filp", OBJECT_NONE, "")              \
    HOOK(do_faccessat, IO_LOOKUP, OBJECT_FOUND, "filename", OBJECT_NONE, "")      \
    HOOK(do_readlinkat, IO_LOOKUP, OBJECT_FOUND, "pathname", OBJECT_NONE, "")     \
    HOOK(user_statfs, IO_LOOKUP, OBJECT_FOUND, "pathname", OBJECT_NONE, "")       \
    HOOK(fd_statfs, IO_LOOKUP, OBJECT_FD, "fd", OBJECT_NONE, "")                  \
    SYSTEM_CALLS(HOOK)

/*
 * Calls by path, hooked before the path is walked: they can fail with ENOENT or EEXIST before they
 * reach the functions above. Those are then inner calls and give the object that the path led to.
 * Since 6.2 there is a function that removes a POSIX ACL. Before 5.10 readv(2) and writev(2) of
 * 32-bit programs have functions of their own.
 */
#define EXTRAS(EXTRA)                                                                              \
    EXTRA(vfs_statx, IO_STAT, "stat by path", OBJECT_WALK, "filename", OBJECT_NONE, "")            \
    EXTRA(do_mkdirat, IO_MKDIR, "mkdir that fails", OBJECT_WALK, "name", OBJECT_WALK, "pathname")  \
    EXTRA(do_unlinkat, IO_UNLINK, "unlink that fails", OBJECT_WALK, "name", OBJECT_NONE, "")       \
    EXTRA(do_renameat2, IO_RENAME, "rename that fails", OBJECT_WALK, "from", OBJECT_WALK,          \
          "oldname")                                                                               \
    EXTRA(do_linkat, IO_LINK, "link that fails", OBJECT_WALK, "old", OBJECT_WALK, "oldname")       \
    EXTRA(do_symlinkat, IO_SYMLINK, "symlink that fails", OBJECT_WALK, "from", OBJECT_WALK,        \
          "oldname")                                                                               \
    EXTRA(do_fchmodat, IO_SETATTR, "chmod that fails", OBJECT_WALK, "filename", OBJECT_NONE, "")   \
    EXTRA(do_fchownat, IO_SETATTR, "chown that fails", OBJECT_WALK, "filename", OBJECT_NONE, "")   \
    EXTRA(do_utimes, IO_SETATTR, "utimes that fails", OBJECT_WALK, "filename", OBJECT_NONE, "")    \
    EXTRA(path_getxattr, IO_GETXATTR, "getxattr that fails", OBJECT_WALK, "pathname", OBJECT_NONE, \
          "")                                                                                      \
    EXTRA(path_setxattr, IO_SETXATTR, "setxattr that fails", OBJECT_WALK, "pathname", OBJECT_NONE, \
          "")                                                                                      \
    EXTRA(vfs_remove_acl, IO_SETXATTR, "ACL", OBJECT_DENTRY, "dentry", OBJECT_NONE, "")            \
    EXTRA(compat_readv, IO_READ, "32-bit programs", OBJECT_FILE, "file", OBJECT_NONE, "")          \
    EXTRA(compat_writev, IO_WRITE, "32-bit programs", OBJECT_FILE, "file", OBJECT_NONE, "")        \
    PATH_CALLS(EXTRA)

#define OPS_BY_PATH                                                                                \
    (1ull << IO_OPEN | 1ull << IO_STAT | 1ull << IO_MKDIR | 1ull << IO_RMDIR | 1ull << IO_UNLINK | \
     1ull << IO_RENAME | 1ull << IO_LINK | 1ull << IO_SYMLINK | 1ull << IO_SETATTR |               \
     1ull << IO_GETXATTR | 1ull << IO_SETXATTR | 1ull << IO_LOOKUP)

#define OPS_RW (1ull << IO_READ | 1ull << IO_WRITE)

/* Events that end a call come before those that start it. */
#define EVENTS(EVENT)                                                                              \
    EVENT(task_gone, "fentry/cgroup_exit", 0, "", OBJECT_NONE, "", OBJECT_NONE, "", "")            \
    EVENT(task_exit, "tp_btf/sched_process_exit", 0, "", OBJECT_NONE, "", OBJECT_NONE, "", "")     \
    EVENT(unmounted, "fentry/generic_shutdown_super", 0, "unmounted file systems", OBJECT_ANY,     \
          "sb", OBJECT_NONE, "", "")                                                               \
    EVENT(rmdir_told, "fentry/security_path_rmdir", 1ull << IO_RMDIR, "inlined rmdir",             \
          OBJECT_DENTRY, "dentry", OBJECT_NONE, "", "")                                            \
    EVENT(created, "fentry/ima_file_check", 1ull << IO_CREATE, "create", OBJECT_NUMBER, "opened",  \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(io_uring, "tp_btf/io_uring_complete", OPS_RW, "io_uring", OBJECT_NUMBER, "req",          \
          OBJECT_NONE, "", "res")                                                                  \
    EVENT(io_uring_post, "fentry/io_req_complete_post", OPS_RW, "io_uring", OBJECT_NUMBER, "res",  \
          OBJECT_NONE, "", "req")                                                                  \
    EVENT(io_uring_flush, "fentry/io_submit_flush_completions", OPS_RW, "io_uring", OBJECT_NUMBER, \
          "ctx", OBJECT_NONE, "", "")                                                              \
    EVENT(io_uring_overflow, "fentry/io_req_cqe_overflow", OPS_RW, "io_uring overflow",            \
          OBJECT_NUMBER, "req", OBJECT_NONE, "", "")                                               \
    EVENT(io_uring_overflow_only, "fentry/io_cqring_event_overflow", OPS_RW, "io_uring overflow",  \
          OBJECT_NUMBER, "ctx", OBJECT_NONE, "", "")                                               \
    EVENT(io_uring_overflow_cqe, "fentry/io_cqe_overflow", OPS_RW, "io_uring overflow",            \
          OBJECT_NUMBER, "cqe", OBJECT_NONE, "", "big_cqe")                                        \
    EVENT(io_uring_read, "fexit/io_read", 1ull << IO_READ, "io_uring without completion",          \
          OBJECT_NUMBER, "req", OBJECT_NONE, "", "")                                               \
    EVENT(io_uring_write, "fexit/io_write", 1ull << IO_WRITE, "io_uring without completion",       \
          OBJECT_NUMBER, "req", OBJECT_NONE, "", "")                                               \
    EVENT(io_uring_submit, "tp_btf/io_uring_submit_req", 0, "", OBJECT_NONE, "", OBJECT_NONE, "",  \
          "")                                                                                      \
    EVENT(io_uring_late, "fexit/io_req_rw_complete", OPS_RW, "io_uring without completion",        \
          OBJECT_NUMBER, "req", OBJECT_NUMBER, "tw_req", "")                                       \
    EVENT(io_uring_polled, "fexit/io_complete_rw_iopoll", OPS_RW, "io_uring without completion",   \
          OBJECT_NUMBER, "kiocb", OBJECT_NONE, "", "res")                                          \
    EVENT(aio_complete_rw, "fentry/aio_complete_rw", OPS_RW, "libaio", OBJECT_NUMBER, "kiocb",     \
          OBJECT_NONE, "", "res")                                                                  \
    EVENT(aio_complete, "fentry/aio_complete", 1ull << IO_FSYNC, "libaio", OBJECT_NUMBER, "iocb",  \
          OBJECT_NONE, "", "res")                                                                  \
    EVENT(aio_refused_read, "fexit/aio_read", 1ull << IO_READ, "libaio", OBJECT_NUMBER, "req",     \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(aio_refused_write, "fexit/aio_write", 1ull << IO_WRITE, "libaio", OBJECT_NUMBER, "req",  \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(aio_refused_fsync, "fexit/aio_fsync", 1ull << IO_FSYNC, "libaio", OBJECT_NUMBER, "req",  \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(aio_read, "fentry/aio_read", 1ull << IO_READ, "libaio", OBJECT_NUMBER, "req",            \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(aio_write, "fentry/aio_write", 1ull << IO_WRITE, "libaio", OBJECT_NUMBER, "req",         \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(aio_fsync, "fentry/aio_fsync", 1ull << IO_FSYNC, "libaio", OBJECT_NUMBER, "req",         \
          OBJECT_NONE, "", "")                                                                     \
    EVENT(walked, "fentry/terminate_walk", OPS_BY_PATH, "mount of a failed call", OBJECT_NONE,     \
          "nd", OBJECT_NONE, "", "")                                                               \
    EVENT(found_parent, "fexit/path_parentat", OPS_BY_PATH, "mount of a failed call", OBJECT_PATH, \
          "parent", OBJECT_NONE, "", "")                                                           \
    EVENT(page_added, "tp_btf/mm_filemap_add_to_page_cache", 1 << IO_MMAP_READ | IO_CACHE, "",     \
          OBJECT_FOLIO, "folio", OBJECT_PAGE, "page", "")

/* Memory-mapped files and page cache fills: see bpf/cache.bpf.h. Closes: see bpf/close.bpf.h.
 * Writeback: see bpf/throttle.bpf.h. */
#define STAGES(STAGE)                                                           \
    STAGE(filemap_fault, 1 << IO_MMAP_READ | IO_CACHE, "", OBJECT_FAULT, "vmf") \
    STAGE(do_page_mkwrite, 1 << IO_MMAP_WRITE, "", OBJECT_FAULT, "vmf")         \
    STAGE(page_cache_async_ra, IO_CACHE, "", OBJECT_ANY, "ractl")               \
    STAGE(generic_fadvise, IO_CACHE, "", OBJECT_ANY, "file")                    \
    STAGE(__kernel_read, IO_CACHE, "", OBJECT_ANY, "file")                      \
    STAGE(__fput, 1ull << IO_CLOSE, "", OBJECT_FILE, "file")                    \
    STAGE(filp_close, 1ull << IO_CLOSE, "flush at close", OBJECT_FILE, "filp")  \
    STAGE(filp_flush, 1ull << IO_CLOSE, "flush at close", OBJECT_FILE, "filp")  \
    STAGE(balance_dirty_pages, IO_THROTTLING, "", OBJECT_ANY, "wb")             \
    STAGE(fault_dirty_shared_page, IO_THROTTLING, "", OBJECT_FAULT, "vmf")

/*
 * sendfile(2) uses do_splice_direct, or splice_file_to_pipe if the target is a pipe. 5.10 has no
 * splice_file_to_pipe and always uses do_splice_direct. splice(2) uses do_splice; one side of it is
 * a pipe. FICLONE and FICLONERANGE use vfs_clone_file_range: one request on the target.
 * __kernel_write_iter writes core dumps.
 */
#define TRANSFERS(TRANSFER)                                                               \
    TRANSFER(do_splice_direct, IO_READ, IO_WRITE, "in", "out", "sendfile")                \
    TRANSFER(splice_file_to_pipe, IO_READ, IO_READ, "in", "", "sendfile to a pipe")       \
    TRANSFER(do_splice, IO_READ, IO_WRITE, "in", "out", "splice")                         \
    TRANSFER(vfs_copy_file_range, IO_COPY_READ, IO_COPY_WRITE, "file_in", "file_out", "") \
    TRANSFER(vfs_clone_file_range, IO_CLONE, IO_CLONE, "", "file_out", "")                \
    TRANSFER(__kernel_write_iter, IO_WRITE, IO_WRITE, "", "file", "core dump")

#define HOOK_NUMBER(name, ...) HOOK_##name,
enum hook_number {
    HOOKS(HOOK_NUMBER) EXTRAS(HOOK_NUMBER) EVENTS(HOOK_NUMBER) TRANSFERS(HOOK_NUMBER)
        STAGES(HOOK_NUMBER) HOOK_COUNT
};
#undef HOOK_NUMBER

/* Indexes of the file, the offset and the result of vfs_read() and the like, in all kernels so far.
 * With an index from `hooks`, each access to an argument would take two more instructions. */
#define USUAL_FILE 0
#define USUAL_OFFSET 3
#define USUAL_RESULT(hook) ((hook) == HOOK_vfs_read || (hook) == HOOK_vfs_write ? 4 : 5)

#endif
