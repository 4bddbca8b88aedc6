/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "collector/probe/selftest_calls.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"

#define ROUNDS 10
#define CALLS 100

/* Names created in the working directory of the child, in the order in which they are removed. */
static const char *const names[] = {"file", "copy", "new", "hard", "soft", "node", "dir"};
enum { NAME_FILE, NAME_COPY, NAME_NEW, NAME_HARD, NAME_SOFT, NAME_NODE, NAME_DIR };

static bool read_byte(int fd)
{
    char byte;

    return pread(fd, &byte, 1, 0) == 1;
}

/* Without a descriptor, these two do the same: they look for it. Only the first has programs. */
static bool call_hooked(int fd)
{
    return fdatasync(fd) < 0;
}

static bool call_unhooked(int fd)
{
    return syncfs(fd) < 0;
}

/* Returns the ns per call of the fastest round; 0: the call failed. */
static uint64_t time_calls(bool (*call)(int fd), int fd)
{
    uint64_t best = UINT64_MAX;

    for (int round = 0; round < ROUNDS; round++) {
        uint64_t from = clock_ns(CLOCK_MONOTONIC), ns;

        for (int i = 0; i < CALLS; i++)
            if (!call(fd))
                return 0;
        ns = clock_ns(CLOCK_MONOTONIC) - from;
        if (ns < best)
            best = ns;
    }
    return best / CALLS;
}

static uint64_t time_attached(void)
{
    uint64_t unhooked = time_calls(call_unhooked, -1), hooked = time_calls(call_hooked, -1);

    return hooked > unhooked ? hooked - unhooked : 0;
}

void selftest_outside(struct selftest_calls *calls, const char *directory)
{
    int fd;

    if (chdir(directory) < 0)
        return;
    fd = open(names[NAME_FILE], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, "0123456789", 10) == 10)
        calls->ns_outside = time_calls(read_byte, fd);
    (void)close(fd);
    calls->ns_attached = time_attached();
}

/* A call counts even if it fails: it reaches a file system without extended attributes, too. */
#define BY_FD(op, call) ((void)((call) < 0), calls->by_fd[op]++)
#define BY_PATH(op, call) ((void)((call) < 0), calls->by_path[op]++)

static void call_data(struct selftest_calls *calls, int fd)
{
    char bytes[10];

    for (int i = 0; i < 3; i++) {
        BY_FD(IO_WRITE, pwrite(fd, "0123456789", 10, 0));
        BY_FD(IO_READ, pread(fd, bytes, 10, 0));
    }
}

static void call_copy(struct selftest_calls *calls, int from)
{
    loff_t zero = 0;
    int to = open(names[NAME_COPY], O_RDWR | O_CREAT | O_CLOEXEC, 0600);

    calls->by_fd[IO_OPEN]++;
    calls->by_fd[IO_CREATE]++;
    if (to < 0)
        return;
    BY_FD(IO_COPY_READ, copy_file_range(from, &zero, to, NULL, 10, 0));
    calls->by_fd[IO_COPY_WRITE]++;
    BY_FD(IO_CLOSE, close(to));
}

static void call_on_descriptor(struct selftest_calls *calls, int fd)
{
    struct statfs fs;
    struct stat st;

    BY_FD(IO_STAT, fstat(fd, &st));
    BY_FD(IO_TRUNCATE, ftruncate(fd, 4096));
    BY_FD(IO_FALLOCATE, fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4096));
    BY_FD(IO_FSYNC, fsync(fd));
    BY_FD(IO_FSYNC, fdatasync(fd));
    BY_FD(IO_SETATTR, fchmod(fd, 0600));
    BY_FD(IO_LOOKUP, fstatfs(fd, &fs));
    BY_FD(IO_LOCK, flock(fd, LOCK_EX | LOCK_NB));
    BY_FD(IO_SETXATTR, fsetxattr(fd, "trusted.jobio", "1", 1, 0));
    BY_FD(IO_GETXATTR, fgetxattr(fd, "trusted.jobio", &st, 1));
}

static void call_by_path(struct selftest_calls *calls)
{
    struct stat st;
    char byte;

    BY_PATH(IO_STAT, stat(names[NAME_FILE], &st));
    BY_PATH(IO_LOOKUP, access(names[NAME_FILE], R_OK));
    BY_PATH(IO_LOOKUP, readlink(names[NAME_FILE], &byte, 1));
    BY_PATH(IO_LOOKUP, chdir("."));
    BY_PATH(IO_TRUNCATE, truncate(names[NAME_FILE], 0));
    BY_PATH(IO_SETATTR, chmod(names[NAME_FILE], 0600));
    BY_PATH(IO_LINK, link(names[NAME_FILE], names[NAME_HARD]));
    BY_PATH(IO_SYMLINK, symlink("x", names[NAME_SOFT]));
    BY_PATH(IO_MKNOD, mknod(names[NAME_NODE], S_IFIFO | 0600, 0));
    BY_PATH(IO_MKDIR, mkdir(names[NAME_DIR], 0700));
    BY_PATH(IO_RMDIR, rmdir(names[NAME_DIR]));
    BY_PATH(IO_RENAME, rename(names[NAME_COPY], names[NAME_NEW]));
    BY_PATH(IO_UNLINK, unlink(names[NAME_NEW]));
}

static void call_readdir(struct selftest_calls *calls)
{
    char entries[2048];
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    calls->by_fd[IO_OPEN]++;
    if (fd < 0)
        return;
    BY_FD(IO_READDIR, syscall(SYS_getdents64, fd, entries, sizeof(entries)));
    (void)close(fd);
}

void selftest_inside(struct selftest_calls *calls, const char *directory)
{
    int fd = open(names[NAME_FILE], O_RDWR | O_CLOEXEC);

    (void)directory;
    calls->by_fd[IO_OPEN]++;
    if (fd < 0)
        return;
    calls->ns_inside = time_calls(read_byte, fd);
    calls->by_fd[IO_READ] += ROUNDS * CALLS;
    call_data(calls, fd);
    call_copy(calls, fd);
    call_on_descriptor(calls, fd);
    call_by_path(calls);
    call_readdir(calls);
    BY_FD(IO_CLOSE, close(fd));
}

void selftest_clear(const char *directory)
{
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (snprintf(path, sizeof(path), "%s/%s", directory, names[i]) >= (int)sizeof(path))
            continue;
        if (unlink(path) < 0)
            (void)rmdir(path);
    }
    (void)rmdir(directory);
}
