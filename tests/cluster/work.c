/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does exactly the I/O that its arguments describe, one system call per request, and nothing else
 * on these files: work OP:PATH[:COUNT[:SIZE]]...  See table below for the operations; COUNT
 * defaults to 1.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct task {
    const char *op;
    const char *path;
    long count;
    size_t size;
};

static void die(const struct task *task)
{
    fprintf(stderr, "work: %s %s: %s\n", task->op, task->path, strerror(errno));
    exit(1);
}

static void check(const struct task *task, long result)
{
    if (result < 0)
        die(task);
}

static int open_or_die(const struct task *task, int flags)
{
    int fd = open(task->path, flags | O_CLOEXEC, 0644);

    check(task, fd);
    return fd;
}

static char *buffer_make(const struct task *task)
{
    char *buffer = calloc(1, task->size ? task->size : 1);

    if (!buffer)
        die(task);
    return buffer;
}

/* Exit on a short count: the expected numbers would be wrong. */
static void check_full(const struct task *task, ssize_t done)
{
    check(task, done);
    if ((size_t)done != task->size) {
        fprintf(stderr, "work: %s %s: %zd of %zu\n", task->op, task->path, done, task->size);
        exit(1);
    }
}

static void do_write(const struct task *task)
{
    char *buffer = buffer_make(task);
    int fd = open_or_die(task, O_WRONLY | O_CREAT | O_TRUNC);

    for (long i = 0; i < task->count; i++)
        check_full(task, write(fd, buffer, task->size));
    close(fd);
    free(buffer);
}

static void do_read(const struct task *task)
{
    char *buffer = buffer_make(task);
    int fd = open_or_die(task, O_RDONLY);

    for (long i = 0; i < task->count; i++)
        check_full(task, read(fd, buffer, task->size));
    close(fd);
    free(buffer);
}

static void do_pwritev(const struct task *task)
{
    char *buffer = buffer_make(task);
    struct iovec vector[2] = {{buffer, task->size / 2}, {buffer, task->size - task->size / 2}};
    int fd = open_or_die(task, O_WRONLY | O_CREAT);

    for (long i = 0; i < task->count; i++)
        check_full(task, pwritev(fd, vector, 2, (off_t)i * (off_t)task->size));
    close(fd);
    free(buffer);
}

static void do_preadv(const struct task *task)
{
    char *buffer = buffer_make(task);
    struct iovec vector[2] = {{buffer, task->size / 2}, {buffer, task->size - task->size / 2}};
    int fd = open_or_die(task, O_RDONLY);

    for (long i = 0; i < task->count; i++)
        check_full(task, preadv(fd, vector, 2, (off_t)i * (off_t)task->size));
    close(fd);
    free(buffer);
}

/* Write COUNT blocks, with a pause of SIZE microseconds after each. */
static void do_trickle(const struct task *task)
{
    static const char block[4096];
    int fd = open_or_die(task, O_WRONLY | O_CREAT | O_TRUNC);

    for (long i = 0; i < task->count; i++) {
        check(task, write(fd, block, sizeof(block)) == sizeof(block) ? 0 : -1);
        usleep((useconds_t)task->size);
    }
    close(fd);
}

static void do_open(const struct task *task)
{
    for (long i = 0; i < task->count; i++)
        close(open_or_die(task, O_RDONLY));
}

static void do_missing(const struct task *task)
{
    for (long i = 0; i < task->count; i++) {
        if (open(task->path, O_RDONLY) >= 0 || errno != ENOENT)
            die(task);
    }
}

static void do_stat(const struct task *task)
{
    struct stat status;

    for (long i = 0; i < task->count; i++)
        check(task, stat(task->path, &status));
}

static void do_fsync(const struct task *task)
{
    int fd = open_or_die(task, O_WRONLY);

    for (long i = 0; i < task->count; i++)
        check(task, fsync(fd));
    close(fd);
}

static void do_truncate(const struct task *task)
{
    for (long i = 0; i < task->count; i++)
        check(task, truncate(task->path, (off_t)task->size));
}

/* One open and two getdents64 each: the entries, then the end. The directory must be small. */
static void do_readdir(const struct task *task)
{
    char entries[32768];

    for (long i = 0; i < task->count; i++) {
        int fd = open_or_die(task, O_RDONLY | O_DIRECTORY);

        check(task, syscall(SYS_getdents64, fd, entries, sizeof(entries)));
        check(task, syscall(SYS_getdents64, fd, entries, sizeof(entries)));
        close(fd);
    }
}

static void do_mkdir(const struct task *task)
{
    check(task, mkdir(task->path, 0755));
}

static void do_rmdir(const struct task *task)
{
    check(task, rmdir(task->path));
}

static void do_unlink(const struct task *task)
{
    check(task, unlink(task->path));
}

/* Rename PATH to PATH.new and back, COUNT times. */
static void do_rename(const struct task *task)
{
    char other[4096];

    snprintf(other, sizeof(other), "%s.new", task->path);
    for (long i = 0; i < task->count; i++) {
        check(task, rename(task->path, other));
        check(task, rename(other, task->path));
    }
}

static void do_link(const struct task *task)
{
    char other[4096];

    snprintf(other, sizeof(other), "%s.link", task->path);
    check(task, link(task->path, other));
}

static void do_symlink(const struct task *task)
{
    check(task, symlink("target", task->path));
}

/* Wait until PATH exists. Only reads the directory; no file is opened or stat'ed. */
static void do_await(const struct task *task)
{
    while (access(task->path, F_OK) != 0)
        usleep(50000);
}

static const struct {
    const char *name;
    void (*run)(const struct task *task);
} operations[] = {
    {"write", do_write},       {"read", do_read},       {"pwritev", do_pwritev},
    {"preadv", do_preadv},     {"trickle", do_trickle}, {"open", do_open},
    {"missing", do_missing},   {"stat", do_stat},       {"fsync", do_fsync},
    {"truncate", do_truncate}, {"readdir", do_readdir}, {"mkdir", do_mkdir},
    {"rmdir", do_rmdir},       {"unlink", do_unlink},   {"rename", do_rename},
    {"link", do_link},         {"symlink", do_symlink}, {"await", do_await},
};

static void run(char *argument)
{
    struct task task = {.count = 1};
    const char *field[4] = {NULL};

    for (int i = 0; i < 4; i++)
        field[i] = strsep(&argument, ":");
    task.op = field[0];
    task.path = field[1] ? field[1] : "";
    if (field[2])
        task.count = strtol(field[2], NULL, 10);
    if (field[3])
        task.size = strtoul(field[3], NULL, 10);
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
        if (!strcmp(operations[i].name, task.op)) {
            operations[i].run(&task);
            return;
        }
    }
    fprintf(stderr, "work: unknown operation '%s'\n", task.op);
    exit(2);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        run(argv[i]);
    return 0;
}
