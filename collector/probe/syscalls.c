/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system call backend, for kernels where programs cannot attach to functions: loads
 * bpf/syscalls.bpf.h. */
#include "config.h"

#include "collector/probe/probe_impl.h"

#include <limits.h>
#include <string.h>
#include <sys/syscall.h>

#include "bpf/syscalls.skel.h"
#include "common/cleanup.h"

#define FD(operation, argument)                             \
    {                                                       \
        .kind = SYSCALL_FD, .op = operation, .fd = argument \
    }
#define TWO(from, to, source, destination)                                                 \
    {                                                                                      \
        .kind = SYSCALL_TWO, .op = from, .fd = source, .second = destination, .target = to \
    }
#define AT(operation, path, at_flags)                                          \
    {                                                                          \
        .kind = SYSCALL_AT, .op = operation, .second = path, .flags = at_flags \
    }
#define OPEN(path)                                          \
    {                                                       \
        .kind = SYSCALL_OPEN, .op = IO_OPEN, .second = path \
    }

/* By number. Calls that only work on a path are not here, because their super block is unknown. */
static const struct syscall_entry table[SYSCALL_COUNT] = {
    [SYS_read] = FD(IO_READ, 0),
    [SYS_pread64] = FD(IO_READ, 0),
    [SYS_readv] = FD(IO_READ, 0),
    [SYS_preadv] = FD(IO_READ, 0),
    [SYS_preadv2] = FD(IO_READ, 0),
    [SYS_write] = FD(IO_WRITE, 0),
    [SYS_pwrite64] = FD(IO_WRITE, 0),
    [SYS_writev] = FD(IO_WRITE, 0),
    [SYS_pwritev] = FD(IO_WRITE, 0),
    [SYS_pwritev2] = FD(IO_WRITE, 0),
    [SYS_sendfile] = TWO(IO_READ, IO_WRITE, 1, 0),
    [SYS_splice] = TWO(IO_READ, IO_WRITE, 0, 2),
    [SYS_copy_file_range] = TWO(IO_COPY_READ, IO_COPY_WRITE, 0, 2),
#ifdef SYS_open
    [SYS_open] = OPEN(0),
    [SYS_creat] = OPEN(0),
#endif
    [SYS_openat] = OPEN(1),
#ifdef SYS_openat2
    [SYS_openat2] = OPEN(1),
#endif
    [SYS_fstat] = FD(IO_STAT, 0),
    [SYS_newfstatat] = AT(IO_STAT, 1, 3),
    [SYS_statx] = AT(IO_STAT, 1, 2),
#ifdef SYS_getdents
    [SYS_getdents] = FD(IO_READDIR, 0),
#endif
    [SYS_getdents64] = FD(IO_READDIR, 0),
    [SYS_ftruncate] = FD(IO_TRUNCATE, 0),
    [SYS_fallocate] = FD(IO_FALLOCATE, 0),
    [SYS_fsync] = FD(IO_FSYNC, 0),
    [SYS_fdatasync] = FD(IO_FSYNC, 0),
    [SYS_fchmod] = FD(IO_SETATTR, 0),
    [SYS_fchown] = FD(IO_SETATTR, 0),
    [SYS_fchownat] = AT(IO_SETATTR, 1, 4),
    [SYS_utimensat] = {.kind = SYSCALL_NULL, .op = IO_SETATTR, .second = 1},
    [SYS_fgetxattr] = FD(IO_GETXATTR, 0),
    [SYS_flistxattr] = FD(IO_GETXATTR, 0),
    [SYS_fsetxattr] = FD(IO_SETXATTR, 0),
    [SYS_fremovexattr] = FD(IO_SETXATTR, 0),
    [SYS_flock] = FD(IO_LOCK, 0),
    [SYS_fcntl] = {.kind = SYSCALL_LOCK, .op = IO_LOCK, .second = 1},
    [SYS_fchdir] = FD(IO_LOOKUP, 0),
    [SYS_fstatfs] = FD(IO_LOOKUP, 0),
#ifdef SYS_faccessat2
    [SYS_faccessat2] = AT(IO_LOOKUP, 1, 3),
#endif
    [SYS_close] = {.kind = SYSCALL_CLOSE, .op = IO_CLOSE},
};

#define OP(op) (1ull << (op))

#define OPS_BY_FD                                                                        \
    (OP(IO_READ) | OP(IO_WRITE) | OP(IO_COPY_READ) | OP(IO_COPY_WRITE) | OP(IO_OPEN) |   \
     OP(IO_CREATE) | OP(IO_STAT) | OP(IO_READDIR) | OP(IO_TRUNCATE) | OP(IO_FALLOCATE) | \
     OP(IO_FSYNC) | OP(IO_SETATTR) | OP(IO_GETXATTR) | OP(IO_SETXATTR) | OP(IO_CLOSE) |  \
     OP(IO_LOCK) | OP(IO_LOOKUP))

/* What the programs see, and what is not covered by them. */
static const struct probe_hook coverage[SYSCALL_HOOKS] = {
    {.function = "system calls", .feature = "", .ops = OPS_BY_FD},
    {.function = "calls by path",
     .feature = PROBE_BY_PATH,
     .ops = OP(IO_STAT) | OP(IO_TRUNCATE) | OP(IO_SETATTR) | OP(IO_GETXATTR) | OP(IO_SETXATTR) |
            OP(IO_LOOKUP),
     .why = "system calls do not tell the mount of a path"},
    {.function = "32-bit system calls",
     .feature = "32-bit",
     .ops = OPS_BY_FD,
     .why = "they have other numbers"},
    {.function = "core dumps",
     .feature = "core dump",
     .ops = OP(IO_WRITE) | OP(IO_OPEN) | OP(IO_CREATE) | OP(IO_TRUNCATE),
     .why = "they are no system call"},
    {.function = "io_uring beyond reads and writes",
     .feature = "io_uring metadata",
     .ops = OP(IO_OPEN) | OP(IO_CREATE) | OP(IO_STAT) | OP(IO_FALLOCATE) | OP(IO_FSYNC) |
            OP(IO_GETXATTR) | OP(IO_SETXATTR) | OP(IO_CLOSE),
     .why = "its requests are no system calls"},
    {.function = "msync(2)", .feature = "msync", .ops = OP(IO_FSYNC), .why = "it names no file"},
    {.function = "execve(2)",
     .feature = "exec",
     .ops = OP(IO_OPEN),
     .why = "it gives no descriptor of what it opens"},
    {.function = "closes without close(2)",
     .feature = "close at exit",
     .ops = OP(IO_CLOSE),
     .why = "they name no descriptor"},
};

static const char *const pins[SIDE_COUNT] = {"enter_syscall", "leave_syscall"};

static int pin_path(const struct probe *probe, int side, char path[PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s", probe->directory, pins[side]);

    return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static void list_coverage(struct probe *probe)
{
    memcpy(probe->syscall_hooks, coverage, sizeof(coverage));
    probe->by_syscalls = true;
}

/* System calls are the last resort, so also report what prevented hooks on functions. */
static void set_attached(struct probe *probe)
{
    struct probe_hook *hook = &probe->syscall_hooks[0];

    hook->backend = PROBE_TP_BTF;
    (void)snprintf(hook->why, sizeof(hook->why), "in place of vfs_read (%.90s)",
                   probe->hooks[HOOK_vfs_read].why);
}

bool syscalls_adopt(struct probe *probe)
{
    struct bpf_link *links[SIDE_COUNT] = {NULL};
    char path[PATH_MAX];

    for (int side = 0; side < SIDE_COUNT; side++)
        if (pin_path(probe, side, path) == 0)
            links[side] = bpf_link__open(path);
    if (!links[SIDE_LEAVE]) {
        (void)bpf_link__destroy(links[SIDE_ENTER]);
        return false;
    }
    for (int side = 0; side < SIDE_COUNT; side++)
        links_add(&probe->syscall_links, side, links[side]);
    list_coverage(probe);
    set_attached(probe);
    return true;
}

static int attach_side(struct probe *probe, const struct bpf_program *program, int side)
{
    struct bpf_link *link = bpf_program__attach(program);
    char path[PATH_MAX];
    int r = 0;

    if (!link)
        return -errno;
    if (probe->directory) {
        r = pin_path(probe, side, path);
        if (r == 0)
            r = bpf_link__pin(link, path);
    }
    if (r < 0)
        (void)bpf_link__destroy(link);
    else
        links_add(&probe->syscall_links, side, link);
    return r;
}

DEFINE_CLEANUP(struct syscalls_bpf, syscalls_bpf__destroy)

void syscalls_attach(struct probe *probe)
{
    CLEANUP(syscalls_bpf__destroyp)
    struct syscalls_bpf *skel = syscalls_bpf__open_opts(features_types());
    struct probe_hook *hook = &probe->syscall_hooks[0];
    int r = skel ? 0 : -errno;

    list_coverage(probe);
    if (r == 0)
        r = maps_share(probe, skel->obj);
    if (r == 0) {
        memcpy((void *)skel->rodata->syscall_table, table, sizeof(table));
        skel->rodata->features = probe->features;
        skel->rodata->devtmpfs_dev = probe->devtmpfs_dev;
        memcpy((void *)skel->rodata->share_limits, probe->share_limits,
               sizeof(skel->rodata->share_limits));
        r = syscalls_bpf__load(skel);
    }
    if (r == 0)
        r = attach_side(probe, skel->progs.leave_syscall, SIDE_LEAVE);
    if (r == 0)
        r = attach_side(probe, skel->progs.enter_syscall, SIDE_ENTER);
    if (r == 0) {
        set_attached(probe);
        return;
    }
    links_unpin(&probe->syscall_links);
    snprintf(hook->why, sizeof(hook->why), "the kernel refused it: %s", strerror(-r));
}
