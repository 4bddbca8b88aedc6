/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does without MPI what mpi_calls.c does, and starts a program. Prints a line for each kind of
 * call: its name, and the ns of a call in the fastest chunk. Compiled by `make bench`, static: a
 * start reads no other file.
 *
 * usage: plain_calls FILE CHUNKS */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1 << 20)
#define CALLS 20 /* in a chunk */

static char data[MIB];
static const char *self;

static void must(int ok)
{
    if (!ok)
        abort();
}

static void write_8(int fd)
{
    must(pwrite(fd, data, 8, 0) == 8);
}

static void write_mib(int fd)
{
    must(pwrite(fd, data, MIB, 0) == MIB);
}

static void start_program(int fd)
{
    int status;
    pid_t pid = vfork();

    (void)fd;
    if (pid == 0) {
        (void)execl(self, self, NULL);
        _exit(1);
    }
    must(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static const struct {
    const char *name;
    void (*call)(int fd);
} kinds[] = {
    {"write_of_8_bytes", write_8},
    {"write_of_1_MiB", write_mib},
    {"start_of_a_program", start_program},
};

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Returns the ns of a call in the fastest chunk, which nothing disturbed. */
static double measure(void (*call)(int fd), int fd, int chunks)
{
    double best = 1e18;

    call(fd);
    for (int i = 0; i < chunks; i++) {
        double start = now_ns(), ns;

        for (int j = 0; j < CALLS; j++)
            call(fd);
        ns = (now_ns() - start) / CALLS;
        if (ns < best)
            best = ns;
    }
    return best;
}

int main(int argc, char **argv)
{
    int fd;

    if (argc == 1) /* the program that is started */
        return 0;
    self = argv[0];
    fd = argc == 3 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0)
        return 2;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        printf("%s %.0f\n", kinds[i].name, measure(kinds[i].call, fd, atoi(argv[2])));
    return 0;
}
