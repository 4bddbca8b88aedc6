/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lookups: access, readlink, chdir and statfs, by path and by descriptor. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

static char target[100];
static struct statfs fs;

static void touch(const char *path)
{
    close(make_file(path, 0, WARM));
}

static void make_names(void)
{
    touch(IN("file"));
    MUST(mkdir(IN("directory"), 0755));
    MUST(symlink("file", IN("soft")));
}

/* access(2) with an effective user, and of a descriptor: faccessat(2) of glibc asks in other ways.
 */
static long access2(int directory, const char *path, int flags)
{
    return syscall(SYS_faccessat2, directory, path, R_OK, flags);
}

static void do_lookups(void)
{
    int directory, root = place_of("/");

    make_names();
    directory = (int)MUST(open(IN("directory"), O_PATH | O_DIRECTORY));
    begin();
    for (int i = 0; i < 11; i++)
        WELL(HERE, IO_LOOKUP, access(IN("file"), R_OK | W_OK));
    WELL(HERE, IO_LOOKUP, access(IN("directory/../soft"), F_OK));
    WELL(HERE, IO_LOOKUP, faccessat(directory, "../file", F_OK, 0));
    WELL(HERE, IO_LOOKUP, access2(AT_FDCWD, IN("file"), AT_EACCESS));
    WELL(HERE, IO_LOOKUP, access2(AT_FDCWD, IN("soft"), AT_SYMLINK_NOFOLLOW));
    WELL(HERE, IO_LOOKUP, access2(directory, "", AT_EMPTY_PATH));
    for (int i = 0; i < 5; i++)
        WELL(HERE, IO_LOOKUP, readlink(IN("soft"), target, sizeof(target)));
    WELL(HERE, IO_LOOKUP, readlinkat(directory, "../soft", target, 1));
    for (int i = 0; i < 3; i++)
        WELL(HERE, IO_LOOKUP, statfs(IN("soft"), &fs));
    WELL(HERE, IO_LOOKUP, chdir(IN("directory")));
    WELL(HERE, IO_LOOKUP, chdir(".."));
    WELL(HERE, IO_LOOKUP, access("file", R_OK));
    WELL(root, IO_LOOKUP, chdir("/"));
}

static void do_lookups_fd(void)
{
    int file = make_file(IN("file"), 100, WARM), fds[2];
    int directory = (int)MUST(open(IN("."), O_RDONLY | O_DIRECTORY));
    int path = (int)MUST(open(IN("."), O_PATH));

    begin();
    for (int i = 0; i < 7; i++)
        WELL(HERE, IO_LOOKUP, fstatfs(file, &fs));
    WELL(HERE, IO_LOOKUP, fstatfs(path, &fs));
    WELL(HERE, IO_LOOKUP, fchdir(directory));
    WELL(HERE, IO_LOOKUP, fchdir(path));
    FAILS(HERE, IO_LOOKUP, ENOTDIR, fchdir(file));
    MUST(pipe2(fds, O_CLOEXEC));
    MUST(fstatfs(fds[0], &fs));
    if (fchdir(fds[0]) == 0 || fchdir(-1) == 0 || fstatfs(-1, &fs) == 0)
        die("no directory");
}

static void do_lookups_fail(void)
{
    char name[300] = "";

    for (size_t i = 0; i < sizeof(name) - 1; i++)
        name[i] = 'n';
    make_names();
    MUST(symlink("loop", IN("loop")));
    begin();
    for (int i = 0; i < 13; i++)
        FAILS(HERE, IO_LOOKUP, ENOENT, access(IN("absent"), F_OK));
    FAILS(HERE, IO_LOOKUP, ENOENT, access(IN("absent/below"), F_OK));
    FAILS(HERE, IO_LOOKUP, ENOTDIR, access(IN("file/below"), F_OK));
    FAILS(HERE, IO_LOOKUP, ELOOP, access(IN("loop"), F_OK));
    FAILS(HERE, IO_LOOKUP, ENAMETOOLONG, access(IN(name), F_OK));
    FAILS(HERE, IO_LOOKUP, ENOENT, readlink(IN("absent"), target, sizeof(target)));
    FAILS(HERE, IO_LOOKUP, EINVAL, readlink(IN("file"), target, sizeof(target)));
    FAILS(HERE, IO_LOOKUP, EINVAL, readlink(IN("directory"), target, sizeof(target)));
    FAILS(HERE, IO_LOOKUP, EFAULT, readlink(IN("soft"), bad_address, 10));
    FAILS(HERE, IO_LOOKUP, ENOENT, chdir(IN("absent")));
    FAILS(HERE, IO_LOOKUP, ENOTDIR, chdir(IN("file")));
    FAILS(HERE, IO_LOOKUP, ENOENT, statfs(IN("absent"), &fs));
}

static void do_lookups_refused(void)
{
    make_names();
    MUST(chmod(IN("file"), 0600));
    MUST(mkdir(IN("closed"), 0700));
    touch(IN("closed/file"));
    MUST(chmod(IN("."), 0755));
    begin();
    MUST(syscall(SYS_setresuid, -1, 65534, -1));
    FAILS(HERE, IO_LOOKUP, EACCES, access2(AT_FDCWD, IN("file"), AT_EACCESS));
    FAILS(HERE, IO_LOOKUP, EACCES, chdir(IN("closed")));
    FAILS(HERE, IO_LOOKUP, EACCES, readlink(IN("closed/file"), target, sizeof(target)));
    MUST(syscall(SYS_setresuid, -1, 0, -1));
}

/* A symbolic link from the first directory into the second. */
static void do_lookups_elsewhere(void)
{
    int root = place_of("/");

    touch(at(1, "file"));
    MUST(mkdir(at(1, "directory"), 0755));
    MUST(symlink("file", at(1, "soft")));
    MUST(symlink(at(1, "."), IN("there")));
    begin();
    WELL(HERE, IO_LOOKUP, readlink(IN("there"), target, sizeof(target)));
    WELL(place_at(1), IO_LOOKUP, access(IN("there"), F_OK));
    WELL(place_at(1), IO_LOOKUP, access(IN("there/file"), F_OK));
    FAILS(place_at(1), IO_LOOKUP, ENOENT, access(IN("there/absent"), F_OK));
    WELL(place_at(1), IO_LOOKUP, readlink(IN("there/soft"), target, sizeof(target)));
    FAILS(place_at(1), IO_LOOKUP, EINVAL, readlink(IN("there/file"), target, sizeof(target)));
    WELL(place_at(1), IO_LOOKUP, statfs(IN("there/directory"), &fs));
    WELL(place_at(1), IO_LOOKUP, chdir(IN("there")));
    WELL(place_at(1), IO_LOOKUP, access(".", F_OK));
    WELL(root, IO_LOOKUP, chdir("/"));
}

/* Walks that do not start, each after one that found something. */
static void do_lookups_nowhere(void)
{
    int file = make_file(IN("file"), 0, WARM);

    begin();
    WELL(HERE, IO_LOOKUP, access(IN("file"), F_OK));
    FAILS(NOWHERE, IO_LOOKUP, EBADF, faccessat(1234, "absent", F_OK, 0));
    WELL(HERE, IO_LOOKUP, access2(file, "", AT_EMPTY_PATH));
    FAILS(NOWHERE, IO_LOOKUP, EBADF, access2(1234, "", AT_EMPTY_PATH));
    WELL(HERE, IO_LOOKUP, access(IN("file"), F_OK));
    FAILS(NOWHERE, IO_LOOKUP, ENOTDIR, faccessat(file, "absent", F_OK, 0));
    FAILS(HERE, IO_LOOKUP, EINVAL, readlink(IN("file"), target, sizeof(target)));
    FAILS(NOWHERE, IO_LOOKUP, EBADF, readlinkat(1234, "", target, sizeof(target)));
    FAILS(NOWHERE, IO_LOOKUP, EINVAL, syscall(SYS_readlinkat, AT_FDCWD, IN("file"), target, 0));
    FAILS(NOWHERE, IO_LOOKUP, EINVAL, syscall(SYS_faccessat2, AT_FDCWD, IN("file"), 077, 0));
    MUST(readlink("/proc/self/exe", target, 1)); /* the link itself is on /proc */
}

const struct workload workloads_lookup[] = {
    {"lookups", do_lookups},
    {"lookups_fd", do_lookups_fd},
    {"lookups_fail", do_lookups_fail},
    {"lookups_refused", do_lookups_refused},
    {"lookups_elsewhere", do_lookups_elsewhere},
    {"lookups_nowhere", do_lookups_nowhere},
    {NULL, NULL},
};
