/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens and stats that fail: they count on the mount of the last directory that was searched. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

static struct stat st;

static void touch(const char *path)
{
    close(make_file(path, 0, WARM));
}

static void do_enoent(void)
{
    begin();
    for (int i = 0; i < 13; i++)
        FAILS(HERE, IO_OPEN, ENOENT, open(IN("absent"), O_RDONLY));
    for (int i = 0; i < 7; i++)
        FAILS(HERE, IO_STAT, ENOENT, stat(IN("absent"), &st));
    FAILS(HERE, IO_OPEN, ENOENT, open(IN("absent/below"), O_WRONLY | O_CREAT, 0600));
    FAILS(HERE, IO_STAT, ENOENT, lstat(IN("absent/below/more"), &st));
}

static void do_relative(void)
{
    int directory;

    MUST(mkdir(IN("directory"), 0755));
    directory = (int)MUST(open(IN("directory"), O_RDONLY | O_DIRECTORY));
    MUST(chdir(IN("directory")));
    begin();
    for (int i = 0; i < 5; i++)
        FAILS(HERE, IO_OPEN, ENOENT, open("absent", O_RDONLY));
    FAILS(HERE, IO_OPEN, ENOENT, open("../absent", O_RDONLY));
    FAILS(HERE, IO_STAT, ENOENT, stat("absent", &st));
    FAILS(HERE, IO_OPEN, ENOENT, openat(directory, "absent", O_RDONLY));
    FAILS(HERE, IO_STAT, ENOENT, fstatat(directory, "absent", &st, 0));
    leave();
    MUST(chdir("/"));
}

static void do_refused(void)
{
    touch(IN("file"));
    MUST(mkdir(IN("closed"), 0700));
    touch(IN("closed/file"));
    MUST(chmod(IN("file"), 0600));
    MUST(chmod(IN("."), 0755));
    begin();
    MUST(syscall(SYS_setresuid, -1, 65534, -1));
    FAILS(HERE, IO_OPEN, EACCES, open(IN("file"), O_RDONLY));
    FAILS(HERE, IO_OPEN, EACCES, open(IN("closed/file"), O_RDONLY));
    FAILS(HERE, IO_STAT, EACCES, stat(IN("closed/file"), &st));
    FAILS(HERE, IO_OPEN, EACCES, open(IN("new"), O_WRONLY | O_CREAT, 0600));
    MUST(syscall(SYS_setresuid, -1, 0, -1));
}

static void do_other_errors(void)
{
    char name[300] = "";

    for (size_t i = 0; i < sizeof(name) - 1; i++)
        name[i] = 'n';
    touch(IN("file"));
    MUST(mkdir(IN("directory"), 0755));
    MUST(symlink("loop", IN("loop")));
    begin();
    FAILS(HERE, IO_OPEN, EEXIST, open(IN("file"), O_RDWR | O_CREAT | O_EXCL, 0600));
    FAILS(HERE, IO_OPEN, EISDIR, open(IN("directory"), O_WRONLY));
    FAILS(HERE, IO_OPEN, ENOTDIR, open(IN("file/below"), O_RDONLY));
    FAILS(HERE, IO_STAT, ENOTDIR, stat(IN("file/below"), &st));
    FAILS(HERE, IO_OPEN, ENOTDIR, open(IN("file"), O_RDONLY | O_DIRECTORY));
    FAILS(HERE, IO_OPEN, ELOOP, open(IN("loop"), O_RDONLY));
    FAILS(HERE, IO_STAT, ELOOP, stat(IN("loop"), &st));
    FAILS(HERE, IO_OPEN, ELOOP, open(IN("loop"), O_RDONLY | O_NOFOLLOW));
    FAILS(HERE, IO_OPEN, ENAMETOOLONG, open(IN(name), O_RDONLY));
    FAILS(HERE, IO_STAT, ENAMETOOLONG, stat(IN(name), &st));
}

/* A symbolic link from the first directory into the second: its mount is the last that is searched.
 */
static void do_through_link(void)
{
    MUST(symlink(at(1, "."), IN("there")));
    MUST(symlink(at(1, "absent"), IN("dangling")));
    begin();
    FAILS(place_at(1), IO_OPEN, ENOENT, open(IN("there/absent"), O_RDONLY));
    FAILS(place_at(1), IO_STAT, ENOENT, stat(IN("there/absent"), &st));
    FAILS(place_at(1), IO_OPEN, ENOENT, open(IN("dangling"), O_RDONLY));
    FAILS(place_at(1), IO_STAT, ENOENT, stat(IN("dangling"), &st));
    FAILS(HERE, IO_OPEN, ENOENT, open(IN("absent"), O_RDONLY));
    FAILS(place_at(1), IO_OPEN, ENOENT, open(at(1, "absent"), O_RDONLY));
}

/* Calls that create existing objects or remove missing ones. */
static void do_names_refused(void)
{
    touch(IN("file"));
    MUST(mkdir(IN("directory"), 0755));
    MUST(symlink(at(directories() - 1, "."), IN("there")));
    begin();
    FAILS(HERE, IO_MKDIR, EEXIST, mkdir(IN("directory"), 0755));
    FAILS(HERE, IO_MKDIR, ENOENT, mkdir(IN("absent/directory"), 0755));
    FAILS(HERE, IO_MKDIR, ENOTDIR, mkdir(IN("file/directory"), 0755));
    FAILS(HERE, IO_UNLINK, ENOENT, unlink(IN("absent")));
    FAILS(HERE, IO_UNLINK, EISDIR, unlink(IN("directory")));
    FAILS(HERE, IO_RMDIR, ENOENT, rmdir(IN("absent")));
    FAILS(HERE, IO_RMDIR, ENOTDIR, rmdir(IN("file")));
    FAILS(HERE, IO_RENAME, ENOENT, rename(IN("absent"), IN("new")));
    FAILS(HERE, IO_LINK, EEXIST, link(IN("file"), IN("directory")));
    FAILS(HERE, IO_LINK, ENOENT, link(IN("absent"), IN("new")));
    FAILS(HERE, IO_SYMLINK, EEXIST, symlink("target", IN("file")));
    for (int i = 0; i < 5; i++)
        FAILS(place_at(directories() - 1), IO_UNLINK, ENOENT, unlink(IN("there/absent")));
    FAILS(place_at(directories() - 1), IO_MKDIR, ENOENT, mkdir(IN("there/absent/directory"), 0755));
    WELL(place_at(directories() - 1), IO_MKDIR, mkdir(IN("there/made"), 0755));
    WELL(place_at(directories() - 1), IO_STAT, stat(IN("there"), &st));
    if (directories() > 1) {
        /* The search for the new name is the last one. */
        FAILS(place_at(1), IO_RENAME, EXDEV, rename(IN("file"), IN("there/moved")));
        FAILS(HERE, IO_RENAME, EXDEV, rename(IN("there/made"), IN("moved")));
        FAILS(place_at(1), IO_LINK, EXDEV, link(IN("file"), IN("there/linked")));
    }
}

/* Calls that change missing objects, or those of another user. */
static void do_changes_refused(void)
{
    struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 2}};
    char value[10];

    touch(IN("file"));
    MUST(mkdir(IN("directory"), 0755));
    MUST(symlink(at(directories() - 1, "."), IN("there")));
    begin();
    FAILS(HERE, IO_SETATTR, ENOENT, chmod(IN("absent"), 0600));
    FAILS(HERE, IO_SETATTR, ENOTDIR, chmod(IN("file/below"), 0600));
    FAILS(HERE, IO_SETATTR, ENOENT, chown(IN("absent"), 1, 1));
    FAILS(HERE, IO_SETATTR, ENOENT, lchown(IN("absent/below"), 1, 1));
    FAILS(HERE, IO_SETATTR, ENOENT, utimensat(AT_FDCWD, IN("absent"), times, 0));
    FAILS(HERE, IO_GETXATTR, ENOENT, getxattr(IN("absent"), "user.x", value, sizeof(value)));
    FAILS(HERE, IO_GETXATTR, ENODATA, getxattr(IN("file"), "user.x", value, sizeof(value)));
    FAILS(HERE, IO_SETXATTR, ENOENT, setxattr(IN("absent"), "user.x", value, 1, 0));
    for (int i = 0; i < 5; i++) {
        FAILS(place_at(directories() - 1), IO_SETATTR, ENOENT, chmod(IN("there/absent"), 0600));
        FAILS(place_at(directories() - 1), IO_GETXATTR, ENOENT,
              lgetxattr(IN("there/absent"), "user.x", value, sizeof(value)));
    }
    WELL(HERE, IO_SETATTR, chmod(IN("file"), 0640));
    WELL(HERE, IO_SETATTR, utimensat(AT_FDCWD, IN("file"), times, 0));
    WELL(place_at(directories() - 1), IO_SETATTR, chmod(IN("there/."), 0755));
}

/* A path without a search counts where it is; one that starts nowhere has no mount. */
static void do_no_directory(void)
{
    int root = place_of("/");

    begin();
    FAILS(root, IO_OPEN, EISDIR, open("/", O_WRONLY));
    WELL(root, IO_STAT, stat("/", &st));
    FAILS(NOWHERE, IO_STAT, EBADF, fstatat(1234, "absent", &st, 0));
    FAILS(NOWHERE, IO_OPEN, EBADF, openat(1234, "absent", O_RDONLY));
}

/* An invalid path fails before the open, or since 7.2 inside of it. */
static void do_no_path(void)
{
    begin();
    did_perhaps(NOWHERE, IO_OPEN);
    if (open("", O_RDONLY) >= 0 || open(bad_address, O_RDONLY) >= 0)
        die("open");
}

const struct workload workloads_path[] = {
    {"enoent", do_enoent},
    {"relative", do_relative},
    {"refused", do_refused},
    {"other_errors", do_other_errors},
    {"through_link", do_through_link},
    {"names_refused", do_names_refused},
    {"changes_refused", do_changes_refused},
    {"no_directory", do_no_directory},
    {"no_path", do_no_path},
    {NULL, NULL},
};
