/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/stacks/code_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "collector/stacks/libdw.h"
#include "common/cleanup.h"
#include "common/clock.h"

/* Each takes a descriptor, and at most half of them may. Functions of further files have no names.
 */
#define MAX_FILES 512

struct code_file {
    uint32_t major, minor;
    uint64_t inode;
    char *name; /* owned */
    int fd;     /* owned */
    Elf *elf;   /* owned; NULL: it is not usable */
    char build_id[2 * LIBDW_BUILD_ID_BYTES + 1];
    off_t size; /* when it was opened, like the next one */
    struct timespec modified;
};

struct code_files {
    struct code_file items[MAX_FILES];
    size_t n;
};

struct code_files *code_files_create(void)
{
    return calloc(1, sizeof(struct code_files));
}

/* Returns the descriptor; closes it and returns -EMFILE if it is one of the upper half of those
 * that this process may have: the rest of jobio needs some. */
static int keep_fd(int fd)
{
    struct rlimit limit;

    if (fd < 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 || (rlim_t)fd < limit.rlim_cur / 2)
        return fd;
    (void)close(fd);
    return -EMFILE;
}

void code_files_destroy(struct code_files *files)
{
    for (size_t i = 0; files && i < files->n; i++) {
        free(files->items[i].name);
        if (files->items[i].elf)
            (void)libdw.elf_end(files->items[i].elf);
        (void)close(files->items[i].fd);
    }
    free(files);
}

static bool is_mapped(const struct code_file *file, const struct code_mapping *mapping)
{
    return file->inode == mapping->inode && file->major == mapping->major &&
           file->minor == mapping->minor;
}

/* Since when the process runs, CLOCK_REALTIME. */
static time_t started_at(uint64_t started_ns)
{
    uint64_t age = clock_ns(CLOCK_MONOTONIC) - started_ns;

    return (time_t)((clock_ns(CLOCK_REALTIME) - age) / NS_PER_S);
}

/* Returns whether it is the mapped file. The mappings of an overlay may have the numbers of the
 * file below it: there it is the same if it has not changed since the process started. */
static bool is_file(int fd, const struct code_mapping *mapping)
{
    struct statfs fs;
    struct stat st;

    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    if (st.st_ino == mapping->inode && major(st.st_dev) == mapping->major &&
        minor(st.st_dev) == mapping->minor)
        return true;
    return mapping->started_ns && fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC &&
           st.st_ctime < started_at(mapping->started_ns);
}

/* The file at the path, if it is still the one that was mapped. */
static int open_path(const char *path, const struct code_mapping *mapping)
{
    _close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    return fd >= 0 && is_file(fd, mapping) ? TAKE_FD(fd) : -ENOENT;
}

/* The program itself, also if it was deleted: the mapping then has the same "(deleted)". */
static int open_program(uint32_t pid, const struct code_mapping *mapping)
{
    char path[32], target[PATH_MAX];
    ssize_t n;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/exe", pid);
    n = readlink(path, target, sizeof(target) - 1);
    target[n < 0 ? 0 : n] = '\0';
    return strcmp(target, mapping->path) ? -ENOENT : open_path(path, mapping);
}

/* While the process lives, the kernel opens exactly the mapped file, also if it was deleted, but
 * only for root. Others find it by its path in the process's mount namespace. */
static int open_mapped(uint32_t pid, const struct code_mapping *mapping)
{
    char path[PATH_MAX + 32];
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, pid,
                   mapping->start, mapping->end);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    (void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/root%s", pid, mapping->path);
    fd = open_path(path, mapping);
    if (fd >= 0)
        return fd;
    fd = open_program(pid, mapping);
    return fd >= 0 ? fd : open_path(mapping->path, mapping);
}

int64_t code_files_open(struct code_files *files, uint32_t pid, const struct code_mapping *mapping)
{
    const char *slash = strrchr(mapping->path, '/');
    struct code_file file = {
        .major = mapping->major, .minor = mapping->minor, .inode = mapping->inode};
    struct stat st;

    for (size_t i = 0; i < files->n; i++)
        if (is_mapped(&files->items[i], mapping))
            return (int64_t)i;
    if (files->n == MAX_FILES)
        return -EMFILE;
    file.fd = keep_fd(open_mapped(pid, mapping));
    if (file.fd < 0)
        return file.fd;
    file.name = strdup(slash ? slash + 1 : mapping->path);
    if (!file.name) {
        (void)close(file.fd);
        return -ENOMEM;
    }
    if (fstat(file.fd, &st) == 0) {
        file.size = st.st_size;
        file.modified = st.st_mtim;
        file.elf = libdw_open(file.fd);
    }
    if (file.elf)
        libdw_build_id(file.elf, file.build_id);
    files->items[files->n] = file;
    return (int64_t)files->n++;
}

Elf *code_files_elf(const struct code_files *files, uint64_t file)
{
    return files->items[file].elf;
}

bool code_files_has_changed(const struct code_files *files, uint64_t number)
{
    const struct code_file *file = &files->items[number];
    struct stat st;

    return fstat(file->fd, &st) < 0 || st.st_size != file->size ||
           st.st_mtim.tv_sec != file->modified.tv_sec ||
           st.st_mtim.tv_nsec != file->modified.tv_nsec;
}

const char *code_files_name(const struct code_files *files, uint64_t file)
{
    return files->items[file].name;
}

const char *code_files_build_id(const struct code_files *files, uint64_t file)
{
    return files->items[file].build_id;
}

size_t code_files_count(const struct code_files *files)
{
    return files->n;
}
