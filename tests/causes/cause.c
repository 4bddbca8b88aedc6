/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that lose time to I/O for one known reason each: cause NAME PATH [COUNT]. PATH is a file
 * or a directory that causes.bash has prepared. See the table below.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PIECE (128 * 1024)
#define RECORD 100

static char buffer[1 << 20];

static void die(const char *what)
{
    (void)fprintf(stderr, "cause: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_or_die(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);

    if (fd < 0)
        die(path);
    return fd;
}

static void write_or_die(int fd, size_t size)
{
    if (write(fd, buffer, size) != (ssize_t)size)
        die("write");
}

static char *name_of(const char *directory, long i, char path[PAGE])
{
    (void)snprintf(path, PAGE, "%s/%ld", directory, i);
    return path;
}

static off_t size_of(int fd)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        die("fstat");
    return st.st_size;
}

/* The same numbers in each run. */
static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Reads each file to its end, as most libraries do: the last read returns nothing. */
static void small_files(const char *directory, long count)
{
    char path[PAGE];

    for (long i = 0; i < count; i++) {
        int fd = open_or_die(name_of(directory, i, path), O_RDONLY);

        while (read(fd, buffer, PIECE) > 0)
            continue;
        close(fd);
    }
}

/* A log that is opened for each line, after 10 ms of other work. Most of its time goes to close(2),
 * where NFS writes the line to its server, and which jobio does not count. */
static void append_loop(const char *path, long count)
{
    for (long i = 0; i < count; i++) {
        int fd = open_or_die(path, O_WRONLY | O_APPEND | O_CREAT);

        write_or_die(fd, RECORD);
        close(fd);
        usleep(10000);
    }
}

static void stat_storm(const char *directory, long count)
{
    char path[PAGE];
    struct stat st;

    for (long i = 0; i < count; i++)
        if (stat(name_of(directory, i, path), &st) < 0)
            die(path);
}

static void sync_writes(const char *path, long count)
{
    int fd = open_or_die(path, O_WRONLY | O_CREAT | O_SYNC);

    for (long i = 0; i < count; i++)
        write_or_die(fd, PAGE);
    close(fd);
}

static void sync_records(const char *path, long count)
{
    int fd = open_or_die(path, O_WRONLY | O_CREAT);

    for (long i = 0; i < count; i++) {
        write_or_die(fd, RECORD);
        if (fdatasync(fd) < 0)
            die("fdatasync");
    }
    close(fd);
}

static void tiny_reads(const char *path, long count)
{
    int fd = open_or_die(path, O_RDONLY);

    for (long i = 0; i < count; i++)
        if (read(fd, buffer, 16) != 16)
            die("read");
    close(fd);
}

static void random_reads(const char *path, long count)
{
    int fd = open_or_die(path, O_RDONLY);
    uint64_t pages = (uint64_t)size_of(fd) / PAGE;

    for (long i = 0; i < count; i++)
        if (pread(fd, buffer, PAGE, (off_t)(next_random() % pages * PAGE)) != PAGE)
            die("pread");
    close(fd);
}

/* A byte here and there. */
static void mapped_file(const char *path, long count)
{
    int fd = open_or_die(path, O_RDONLY);
    size_t size = (size_t)size_of(fd);
    const volatile char *at = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    long sum = 0;

    if (at == MAP_FAILED)
        die("mmap");
    for (long i = 0; i < count; i++)
        sum += at[next_random() % size];
    close(fd);
    if (sum == 1)
        exit(1);
}

/* Four processes, each of which reads the whole file again and again. */
static void read_again(const char *path, long count)
{
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (long k = 0; k < count; k++) {
                int fd = open_or_die(path, O_RDONLY);

                while (read(fd, buffer, PIECE) > 0)
                    continue;
                close(fd);
            }
            _exit(0);
        }
    while (wait(NULL) > 0)
        continue;
}

/* Rank 0 writes the data of all ranks, which wait for it at the pipe $CAUSE_PIPE.go. */
static void one_writer(const char *path, long count)
{
    const char *rank = getenv("SLURM_PROCID");
    char go[PAGE], byte = 0;
    int pipe, fd;

    (void)snprintf(go, sizeof(go), "%s.go", getenv("CAUSE_PIPE"));
    pipe = open_or_die(go, O_RDWR); /* which does not wait */
    if (!rank || strcmp(rank, "0") != 0) {
        if (read(pipe, &byte, 1) != 1)
            die(go);
        return;
    }
    fd = open_or_die(path, O_WRONLY | O_CREAT);
    for (long i = 0; i < count; i++)
        write_or_die(fd, sizeof(buffer));
    if (fsync(fd) < 0)
        die("fsync");
    close(fd);
    if (write(pipe, &byte, 1) != 1)
        die(go);
}

/* Writes until there is no room, as a program that does not look at the result. */
static void fill(const char *path, long count)
{
    int fd = open_or_die(path, O_WRONLY | O_CREAT);

    for (long i = 0; i < count; i++)
        if (write(fd, buffer, PIECE) < 0 && errno != ENOSPC && errno != EDQUOT)
            die("write");
    close(fd);
}

/* Healthy: works on a mapped file in memory. */
static void mapped_compute(const char *path, long count)
{
    int fd = open_or_die(path, O_RDWR | O_CREAT);
    size_t size = 8 << 20;
    uint64_t *at;

    if (ftruncate(fd, (off_t)size) < 0)
        die("ftruncate");
    at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        die("mmap");
    for (long i = 0; i < count; i++)
        at[next_random() % (size / sizeof(*at))] += next_random();
    close(fd);
}

static const struct {
    const char *name;
    void (*run)(const char *path, long count);
} causes[] = {
    {"small-files", small_files},
    {"append-loop", append_loop},
    {"stat-storm", stat_storm},
    {"sync-writes", sync_writes},
    {"sync-records", sync_records},
    {"tiny-reads", tiny_reads},
    {"random-reads", random_reads},
    {"mapped-file", mapped_file},
    {"read-again", read_again},
    {"one-writer", one_writer},
    {"fill", fill},
    {"mapped-compute", mapped_compute},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && i < sizeof(causes) / sizeof(*causes); i++)
        if (!strcmp(argv[1], causes[i].name)) {
            causes[i].run(argv[2], strtol(argv[3], NULL, 10));
            return 0;
        }
    (void)fprintf(stderr, "usage: cause NAME PATH COUNT\n");
    return 2;
}
