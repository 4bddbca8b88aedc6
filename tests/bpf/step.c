/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of a step that executes its arguments in order:
 *   join           move to the cgroup $CGROUP
 *   open PATH      open(2) for reading and close(2); a FIFO blocks
 *   write PATH N   open(2) with O_CREAT, N calls of write(2) with 100 bytes, close(2)
 *   loop PATH      as write, until SIGTERM, about 2,000 a second; prints their number
 *   chain PATH N   N processes one after the other that each write 100 times to PATH
 *   crowd PATH N   the same at once: none exits before all have written
 *   mounts DIR N   mount N tmpfs below DIR
 *   touch DIR N    in each of them: open(2) with O_CREAT, write(2) 10 bytes, fstat(2), close(2)
 *   fuse DIR N     mount N FUSE file systems (tests/bpf/fuse.h) below DIR
 *   slow DIR MS    mount one of which each read takes MS milliseconds, and each flush of its file
 *                  "flushed", on DIR/0
 *   fail DIR N E   in each of them: E calls of open(2), which fail with the errnos 1 to E
 *   read DIR N     in each of them: read(2) the file to its end, with one call
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/fuse.h"

static volatile sig_atomic_t stop;
static int procs = -1;

static void on_term(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void join_cgroup(void)
{
    if (write(procs, "0", 1) != 1)
        die("join");
}

static void open_file(const char *path)
{
    int fd = open(path, O_RDONLY);

    if (fd < 0)
        die(path);
    close(fd);
}

static long write_file(const char *path, long n, useconds_t pause)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    char block[100] = "";
    long i;

    if (fd < 0)
        die(path);
    for (i = 0; i < n && !stop; i++) {
        if (pwrite(fd, block, sizeof(block), 0) != sizeof(block))
            die(path);
        if (pause)
            usleep(pause);
    }
    close(fd);
    return i;
}

/* A child that writes, reports that, and exits when all writing ends of `gate` are closed. */
static void write_in_child(const char *path, const int done[2], const int gate[2])
{
    char byte = 0;
    pid_t pid = fork();

    if (pid < 0)
        die("fork");
    if (pid)
        return;
    close(gate[1]);
    (void)write_file(path, 100, 0);
    if (write(done[1], &byte, 1) != 1 || read(gate[0], &byte, 1) != 0)
        die("gate");
    _exit(0);
}

static void write_by_many(const char *path, long n, bool at_once)
{
    int done[2], gate[2];
    char byte;

    for (long left = n, some = at_once ? n : 1; left; left -= some) {
        if (pipe(done) < 0 || pipe(gate) < 0)
            die("pipe");
        for (long i = 0; i < some; i++)
            write_in_child(path, done, gate);
        for (long i = 0; i < some; i++)
            if (read(done[0], &byte, 1) != 1)
                die("done");
        close(gate[1]);
        for (long i = 0; i < some; i++)
            wait(NULL);
        close(gate[0]);
        close(done[0]);
        close(done[1]);
    }
}

static void mount_many(const char *directory, long n)
{
    char path[PATH_MAX];

    for (long i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%ld", directory, i);
        if (mkdir(path, 0755) < 0 || mount("tmpfs", path, "tmpfs", 0, NULL) < 0)
            die(path);
    }
}

static void touch_many(const char *directory, long n)
{
    char path[PATH_MAX];
    struct stat st;

    for (long i = 0; i < n; i++) {
        int fd;

        snprintf(path, sizeof(path), "%s/%ld/file", directory, i);
        fd = open(path, O_WRONLY | O_CREAT, 0600);
        if (fd < 0 || write(fd, "0123456789", 10) != 10 || fstat(fd, &st) < 0)
            die(path);
        close(fd);
    }
}

static void mount_fuse(const char *directory, long n, unsigned read_ms)
{
    char path[PATH_MAX];

    for (long i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%ld", directory, i);
        if (mkdir(path, 0755) < 0)
            die(path);
        fuse_mount(path, read_ms);
    }
}

static void fail_many(const char *directory, long n, long errnos)
{
    char path[PATH_MAX];

    for (long i = 0; i < n; i++)
        for (long number = 1; number <= errnos; number++) {
            snprintf(path, sizeof(path), "%s/%ld/%ld", directory, i, number);
            if (open(path, O_RDONLY) >= 0 || errno != number)
                die(path);
        }
}

static void read_many(const char *directory, long n)
{
    static char block[FUSE_FILE_BYTES];
    char path[PATH_MAX];

    for (long i = 0; i < n; i++) {
        int fd;

        snprintf(path, sizeof(path), "%s/%ld/file", directory, i);
        fd = open(path, O_RDONLY);
        if (fd < 0 || read(fd, block, sizeof(block)) != sizeof(block))
            die(path);
        close(fd);
    }
}

static char *next(char ***argument)
{
    if (!**argument) {
        fprintf(stderr, "step: an argument is missing\n");
        exit(2);
    }
    return *(*argument)++;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = on_term};
    char path[PATH_MAX], **argument = argv + 1;

    (void)argc;
    snprintf(path, sizeof(path), "%s/cgroup.procs", getenv("CGROUP") ?: "");
    procs = open(path, O_WRONLY | O_CLOEXEC);
    if (procs < 0)
        die(path);
    sigaction(SIGTERM, &action, NULL);
    while (*argument) {
        const char *what = next(&argument), *where = strcmp(what, "join") ? next(&argument) : "";

        if (!strcmp(what, "join"))
            join_cgroup();
        else if (!strcmp(what, "open"))
            open_file(where);
        else if (!strcmp(what, "write"))
            (void)write_file(where, atol(next(&argument)), 0);
        else if (!strcmp(what, "loop"))
            dprintf(STDOUT_FILENO, "%ld\n", write_file(where, LONG_MAX, 500));
        else if (!strcmp(what, "chain") || !strcmp(what, "crowd"))
            write_by_many(where, atol(next(&argument)), !strcmp(what, "crowd"));
        else if (!strcmp(what, "mounts"))
            mount_many(where, atol(next(&argument)));
        else if (!strcmp(what, "touch"))
            touch_many(where, atol(next(&argument)));
        else if (!strcmp(what, "fuse"))
            mount_fuse(where, atol(next(&argument)), 0);
        else if (!strcmp(what, "slow"))
            mount_fuse(where, 1, (unsigned)atol(next(&argument)));
        else if (!strcmp(what, "read"))
            read_many(where, atol(next(&argument)));
        else if (!strcmp(what, "fail")) {
            long n = atol(next(&argument));

            fail_many(where, n, atol(next(&argument)));
        } else
            return 2;
    }
    return 0;
}
