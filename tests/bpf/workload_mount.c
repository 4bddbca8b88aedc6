/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File systems that are mounted and unmounted, and misleading names. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "tests/bpf/workload.h"

#define FILE_BYTES 100000 /* of the file "data" in images (mounts.bash) */

static const char *given_in(const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", given(0), name);
    return path;
}

/* A read-only image: a file, a directory. */
static void do_image(void)
{
    struct stat st;
    int fd;

    begin();
    fd = do_open(HERE, given_in("data"), O_RDONLY);
    WELL(HERE, IO_STAT, fstat(fd, &st));
    if (st.st_size != FILE_BYTES)
        die("size");
    while (WELL(HERE, IO_READ, read(fd, block, 30000)) > 0)
        ;
    WELL(HERE, IO_STAT, stat(given_in("directory/below"), &st));
    FAILS(HERE, IO_OPEN, EROFS, open(given_in("data"), O_RDWR));
    FAILS(HERE, IO_STAT, ENOENT, stat(given_in("absent"), &st));
}

/* A file of the lower layer that is opened for writing is copied up by the overlay. */
static void do_copy_up(void)
{
    int fd;

    begin();
    fd = do_open(HERE, given_in("data"), O_RDONLY);
    WELL(HERE, IO_READ, read(fd, block, 1000));
    do_close(HERE, fd);
    fd = do_open(HERE, given_in("data"), O_RDWR);
    WELL(HERE, IO_WRITE, pwrite(fd, block, 2000, 0));
    WELL(HERE, IO_READ, pread(fd, block, 3000, 0));
    do_close(HERE, fd);
    WELL(HERE, IO_UNLINK, unlink(given_in("directory/below")));
}

static void use(int place, const char *directory)
{
    char path[PATH_MAX];
    int fd;

    snprintf(path, sizeof(path), "%s/file", directory);
    fd = do_open(place, path, O_RDWR | O_CREAT);
    WELL(place, IO_WRITE, write(fd, block, 12345));
    WELL(place, IO_READ, pread(fd, block, 345, 0));
    close(fd);
}

/* Mount the workload's own tmpfs in its directory. Returns its place. */
static int mount_own(const char *name)
{
    MUST(mkdir(IN(name), 0755));
    MUST(mount("own", IN(name), "tmpfs", 0, NULL));
    return place_of(IN(name));
}

static void do_everywhere(void)
{
    begin();
    for (int i = 0; i < directories(); i++)
        use(place_at(i), at(i, "."));
}

/* A container's private mount namespace. */
static void do_namespace(void)
{
    int place;

    MUST(unshare(CLONE_NEWNS));
    MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    place = mount_own("private");
    begin();
    use(place, IN("private"));
    use(HERE, IN("."));
}

/* The same with its own root, as containers have. Mounts of the host keep their names. */
static void do_container(void)
{
    int root, place;

    MUST(unshare(CLONE_NEWNS));
    MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    root = mount_own("root");
    place_name(root, "/");
    MUST(mkdir(IN("root/data"), 0755));
    MUST(mount(IN("."), IN("root/data"), NULL, MS_BIND, NULL));
    place = HERE;
    MUST(chroot(IN("root")));
    begin();
    use(place, "/data");
    use(root, "/");
}

/* The job mounts and unmounts it in the host's namespace. */
static void do_passing(void)
{
    int place;

    begin();
    WELL(HERE, IO_MKDIR, mkdir(IN("passing"), 0755));
    MUST(mount("own", IN("passing"), "tmpfs", 0, NULL));
    place = place_of(IN("passing"));
    use(place, IN("passing"));
    usleep(1500000); /* its name is looked up at its first use, by jobiod once a second */
    MUST(umount2(IN("passing"), 0));
    WELL(HERE, IO_RMDIR, rmdir(IN("passing")));
}

/* A mount that lives for one use. Its name has what mountinfo escapes. */
static void use_instant(int i, const char *directory)
{
    char path[PATH_MAX];
    int place;

    snprintf(path, sizeof(path), "%s/an instant #%d \303\274", directory, i);
    MUST(mkdir(path, 0755));
    MUST(mount("its source", path, "tmpfs", 0, NULL));
    place = place_of(path);
    begin();
    use(place, path);
    leave();
    MUST(umount2(path, 0));
    place_gone(place);
}

/* Also in a mount of its own namespace, and with a root of its own. */
static void do_instants(void)
{
    char directory[PATH_MAX - 100];

    snprintf(directory, sizeof(directory), "%s", IN("instants"));
    MUST(mkdir(directory, 0755));
    for (int i = 0; i < 50; i++)
        use_instant(i, directory);
    MUST(unshare(CLONE_NEWNS));
    MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    mount_own("private");
    snprintf(directory, sizeof(directory), "%s", IN("private"));
    for (int i = 50; i < 100; i++)
        use_instant(i, directory);
}

/* Its mount point is longer than what the programs report (bpf/records.h, NEW_MOUNT_PATH). */
static void do_instant_deep(void)
{
    char path[PATH_MAX - 100];
    size_t n = (size_t)snprintf(path, sizeof(path), "%s", IN("deep"));

    MUST(mkdir(path, 0755));
    for (int i = 0; i < 3; i++) {
        n += (size_t)snprintf(path + n, sizeof(path) - n, "/%0250d", i);
        MUST(mkdir(path, 0755));
    }
    use_instant(0, path);
}

/* Two file systems one after the other with the same number: two names, and two sums. */
static void do_reused(void)
{
    static const char *const names[] = {"first", "second", "third"};
    struct stat st[ARRAY_SIZE(names)];
    int fd, place;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        MUST(mkdir(IN(names[i]), 0755));
    begin();
    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        MUST(mount("own", IN(names[i]), "tmpfs", 0, NULL));
        place = place_of(IN(names[i]));
        use(place, IN(names[i]));
        WELL(place, IO_STAT, stat(IN(names[i]), &st[i]));
        fd = do_open(place, at(0, names[i]), O_RDWR | O_TMPFILE);
        for (size_t n = 0; n <= i; n++) {
            WELL(place, IO_WRITE, write(fd, block, 100 + i));
            FAILS(place, IO_WRITE, EFAULT, write(fd, bad_address, 10));
        }
        close(fd);
        usleep(1500000); /* as above */
        MUST(umount2(IN(names[i]), 0));
        place_gone(place);
        if (st[i].st_dev != st[0].st_dev)
            die("another number");
    }
}

/* Unmounted lazily: not in the mount table any more, but still in use. */
static void do_detached(void)
{
    int place = mount_own("detached"), fd = make_file(IN("detached/file"), 0, WARM);

    begin();
    WELL(place, IO_WRITE, write(fd, block, 100));
    usleep(1500000);
    MUST(umount2(IN("detached"), MNT_DETACH));
    WELL(place, IO_WRITE, write(fd, block, 200));
}

/* A bind mount of a directory that is deleted: "//deleted" in the table of mounts. */
static void do_deleted(void)
{
    int fd;

    MUST(mkdir(IN("source"), 0755));
    MUST(mkdir(IN("target"), 0755));
    MUST(mount(IN("source"), IN("target"), NULL, MS_BIND, NULL));
    fd = make_file(IN("target/file"), 0, WARM);
    MUST(unlink(IN("source/file")));
    MUST(rmdir(IN("source")));
    begin();
    WELL(HERE, IO_WRITE, write(fd, block, 100));
    close(do_open(HERE, IN("target"), O_RDONLY | O_DIRECTORY));
    leave();
    MUST(umount2(IN("target"), MNT_DETACH));
}

/* Automount: the first access mounts it. */
static void do_automount(void)
{
    char directory[PATH_MAX];
    int fd;

    snprintf(directory, sizeof(directory), "%s/auto", given(0));
    begin();
    fd = (int)MUST(open(given_in("auto/file"), O_RDWR | O_CREAT, 0600));
    did(place_of(directory), IO_OPEN, 0);
    did(place_of(directory), IO_CREATE, 0);
    WELL(place_of(directory), IO_WRITE, write(fd, block, 1234));
}

/* A file in memory is on a file system that is mounted nowhere. */
static void do_memory(void)
{
    int fd = (int)MUST(memfd_create("memory", MFD_CLOEXEC)), place = place_of_memory(fd);

    begin();
    WELL(place, IO_WRITE, write(fd, block, 5000));
    WELL(place, IO_READ, pread(fd, block, 3000, 0));
    WELL(place, IO_TRUNCATE, ftruncate(fd, 100));
    WELL(HERE, IO_MKDIR, mkdir(IN("directory"), 0755));
}

const struct workload workloads_mount[] = {
    {"image", do_image},           {"copy_up", do_copy_up},
    {"everywhere", do_everywhere}, {"namespace", do_namespace},
    {"container", do_container},   {"passing", do_passing},
    {"detached", do_detached},     {"deleted", do_deleted},
    {"automount", do_automount},   {"reused", do_reused},
    {"instants", do_instants},     {"instant_deep", do_instant_deep},
    {"memory", do_memory},         {NULL, NULL},
};
