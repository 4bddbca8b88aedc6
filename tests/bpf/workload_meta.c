/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metadata: calls that succeed, and calls that fail on existing files. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include "tests/bpf/workload.h"

static void touch(const char *path)
{
    close(make_file(path, 0, WARM));
}

static void do_opens(void)
{
    touch(IN("file"));
    MUST(symlink("file", IN("soft")));
    MUST(mkdir(IN("directory"), 0755));
    begin();
    for (int i = 0; i < 5; i++)
        close(do_open(HERE, IN("file"), O_RDONLY));
    for (int i = 0; i < 3; i++)
        close(do_open(HERE, IN("file"), O_WRONLY | O_TRUNC)); /* truncates inside the open */
    close(do_open(HERE, IN("soft"), O_RDWR));
    close(do_open(HERE, IN("directory"), O_RDONLY | O_DIRECTORY));
    close(do_open(HERE, IN("file"), O_PATH));
}

static void do_creates(void)
{
    char name[16];

    touch(IN("old"));
    begin();
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "new%d", i);
        close(do_open(HERE, IN(name), O_WRONLY | O_CREAT | (i & 1 ? O_EXCL : O_TRUNC)));
    }
    close(do_open(HERE, IN("old"), O_WRONLY | O_CREAT));
    close((int)WELL(HERE, IO_OPEN, creat(IN("by_creat"), 0600)));
    did(HERE, IO_CREATE, 0);
}

static void do_stats(void)
{
    int fd = make_file(IN("file"), 100, WARM);
    struct stat st;
    struct statx stx;

    MUST(symlink("file", IN("soft")));
    begin();
    for (int i = 0; i < 11; i++)
        WELL(HERE, IO_STAT, stat(IN("file"), &st));
    WELL(HERE, IO_STAT, lstat(IN("soft"), &st));
    WELL(HERE, IO_STAT, stat(IN("soft"), &st));
    WELL(HERE, IO_STAT, fstat(fd, &st));
    WELL(HERE, IO_STAT, statx(AT_FDCWD, IN("file"), AT_SYMLINK_NOFOLLOW, STATX_ALL, &stx));
    WELL(HERE, IO_STAT, statx(fd, "", AT_EMPTY_PATH, STATX_SIZE, &stx));
}

static void do_directories(void)
{
    char entries[512];
    int fd;

    begin();
    WELL(HERE, IO_MKDIR, mkdir(IN("a"), 0755));
    WELL(HERE, IO_MKDIR, mkdir(IN("b"), 0755));
    WELL(HERE, IO_MKDIR, mkdir(IN("a/deep"), 0755));
    close(do_open(HERE, IN("b/file"), O_WRONLY | O_CREAT));
    FAILS(HERE, IO_RMDIR, ENOTEMPTY, rmdir(IN("b")));
    fd = do_open(HERE, IN("."), O_RDONLY | O_DIRECTORY);
    while (WELL(HERE, IO_READDIR, syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0)
        ;
    close(fd);
    WELL(HERE, IO_UNLINK, unlink(IN("b/file")));
    WELL(HERE, IO_RMDIR, rmdir(IN("a/deep")));
    WELL(HERE, IO_RMDIR, rmdir(IN("a")));
    WELL(HERE, IO_RMDIR, rmdir(IN("b")));
}

/* A buffer that is too small for an entry. */
static void do_readdir_error(void)
{
    int fd = (int)MUST(open(IN("."), O_RDONLY | O_DIRECTORY));
    char entry[8];

    begin();
    FAILS(HERE, IO_READDIR, EINVAL, syscall(SYS_getdents64, fd, entry, sizeof(entry)));
}

static void do_names(void)
{
    touch(IN("file"));
    touch(IN("other"));
    MUST(mkdir(IN("d1"), 0755));
    MUST(mkdir(IN("d2"), 0755));
    touch(IN("d2/full"));
    begin();
    WELL(HERE, IO_RENAME, rename(IN("file"), IN("d1/moved")));
    WELL(HERE, IO_RENAME, rename(IN("d1/moved"), IN("other")));
    /* Not all file systems know the flag. */
    if (did(HERE, IO_RENAME, renameat2(AT_FDCWD, IN("d1"), AT_FDCWD, IN("d3"), RENAME_NOREPLACE)))
        WELL(HERE, IO_RENAME, rename(IN("d1"), IN("d3")));
    FAILS(HERE, IO_RENAME, ENOTEMPTY, rename(IN("d3"), IN("d2")));
    WELL(HERE, IO_LINK, link(IN("other"), IN("hard")));
    WELL(HERE, IO_SYMLINK, symlink("other", IN("soft")));
    WELL(HERE, IO_SYMLINK, symlink("/nowhere", IN("dangling")));
    WELL(HERE, IO_UNLINK, unlink(IN("hard")));
    WELL(HERE, IO_UNLINK, unlink(IN("soft")));
    WELL(HERE, IO_UNLINK, unlink(IN("dangling")));
}

static void do_mknods(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "socket"};
    int fd = (int)MUST(socket(AF_UNIX, SOCK_STREAM, 0));

    MUST(chdir(IN(".")));
    begin();
    WELL(HERE, IO_MKNOD, mknod(IN("file"), S_IFREG | 0600, 0));
    WELL(HERE, IO_MKNOD, mkfifo(IN("fifo"), 0600));
    WELL(HERE, IO_MKNOD, mknod(IN("null"), S_IFCHR | 0600, makedev(1, 3)));
    WELL(HERE, IO_MKNOD, bind(fd, (struct sockaddr *)&name, sizeof(name)));
}

static void do_truncates(void)
{
    int fd = make_file(IN("file"), 100000, WARM);

    begin();
    WELL(HERE, IO_TRUNCATE, truncate(IN("file"), 5));
    WELL(HERE, IO_TRUNCATE, ftruncate(fd, 12345));
    WELL(HERE, IO_TRUNCATE, ftruncate(fd, 12345));
    WELL(HERE, IO_TRUNCATE, ftruncate(fd, 0));
}

static void do_fallocates(void)
{
    int fd = make_file(IN("file"), 100000, WARM);

    begin();
    WELL(HERE, IO_FALLOCATE, fallocate(fd, 0, 0, 200000));
    WELL(HERE, IO_FALLOCATE, fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 300000));
    WELL(HERE, IO_FALLOCATE, fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 8192));
    FAILS(HERE, IO_FALLOCATE, EINVAL, fallocate(fd, 0, -1, 5));
}

static void do_fsyncs(void)
{
    int fd = make_file(IN("file"), 100000, WARM);
    char *map;

    MUST(fsync(fd));
    map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        die("mmap");
    begin();
    WELL(HERE, IO_FSYNC, fsync(fd));
    WELL(HERE, IO_FSYNC, fsync(fd));
    WELL(HERE, IO_FSYNC, fdatasync(fd));
    WELL(HERE, IO_FSYNC, msync(map, 8192, MS_SYNC));
}

static void do_attributes(void)
{
    int fd = make_file(IN("file"), 0, WARM);
    const struct timespec times[2] = {{1000, 0}, {2000, 0}};

    MUST(symlink("file", IN("soft")));
    begin();
    WELL(HERE, IO_SETATTR, chmod(IN("file"), 0600));
    WELL(HERE, IO_SETATTR, fchmod(fd, 0644));
    WELL(HERE, IO_SETATTR, chown(IN("file"), 1, 1));
    WELL(HERE, IO_SETATTR, fchown(fd, 0, 0));
    WELL(HERE, IO_SETATTR, lchown(IN("soft"), 2, 2));
    WELL(HERE, IO_SETATTR, utimensat(AT_FDCWD, IN("file"), times, 0));
    WELL(HERE, IO_SETATTR, futimens(fd, times));
    WELL(HERE, IO_SETATTR, utime(IN("file"), NULL));
    WELL(HERE, IO_SETATTR, utimes(IN("file"), NULL));
}

static void do_refused_attributes(void)
{
    touch(IN("file"));
    MUST(chmod(IN("."), 0777));
    begin();
    MUST(syscall(SYS_setresuid, -1, 65534, -1));
    FAILS(HERE, IO_SETATTR, EPERM, chmod(IN("file"), 0600));
    FAILS(HERE, IO_SETATTR, EPERM, chown(IN("file"), 1, 1));
    FAILS(HERE, IO_SETATTR, EACCES, utimes(IN("file"), NULL));
    MUST(syscall(SYS_setresuid, -1, 0, -1));
}

static void do_xattrs(void)
{
    int fd = make_file(IN("file"), 0, WARM);
    char value[100];

    begin();
    WELL(HERE, IO_SETXATTR, setxattr(IN("file"), "trusted.a", "12345", 5, 0));
    WELL(HERE, IO_SETXATTR, fsetxattr(fd, "trusted.b", "1", 1, 0));
    FAILS(HERE, IO_SETXATTR, EEXIST, setxattr(IN("file"), "trusted.a", "1", 1, XATTR_CREATE));
    WELL(HERE, IO_GETXATTR, getxattr(IN("file"), "trusted.a", value, sizeof(value)));
    WELL(HERE, IO_GETXATTR, fgetxattr(fd, "trusted.b", NULL, 0));
    FAILS(HERE, IO_GETXATTR, ENODATA, lgetxattr(IN("file"), "trusted.c", value, sizeof(value)));
    WELL(HERE, IO_GETXATTR, listxattr(IN("file"), value, sizeof(value)));
    WELL(HERE, IO_GETXATTR, flistxattr(fd, value, sizeof(value)));
    WELL(HERE, IO_SETXATTR, removexattr(IN("file"), "trusted.a"));
    WELL(HERE, IO_SETXATTR, fremovexattr(fd, "trusted.b"));
}

/* Metadata that has no operation of its own in the account. */
static void do_without_op(void)
{
    int fd = make_file(IN("file"), 100000, WARM);

    begin();
    MUST(lseek(fd, 0, SEEK_END));
    MUST(fcntl(fd, F_GETFL));
    MUST(dup(fd));
    MUST(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
}

const struct workload workloads_meta[] = {
    {"opens", do_opens},
    {"creates", do_creates},
    {"stats", do_stats},
    {"directories", do_directories},
    {"readdir_error", do_readdir_error},
    {"names", do_names},
    {"mknods", do_mknods},
    {"truncates", do_truncates},
    {"fallocates", do_fallocates},
    {"fsyncs", do_fsyncs},
    {"attributes", do_attributes},
    {"refused_attributes", do_refused_attributes},
    {"xattrs", do_xattrs},
    {"without_op", do_without_op},
    {NULL, NULL},
};
