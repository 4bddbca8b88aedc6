/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who reads and writes: processes and threads, on the first and the last directory. */
#define _GNU_SOURCE
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#define PAGE 4096
#define LIMIT 1024 /* JOBIO_MOUNT_USERS */

static int first, last; /* files in the first and the last directory */

static int last_place(void)
{
    return place_at(directories() - 1);
}

static void prepare(void)
{
    first = make_file(at(0, "first"), PAGE, WARM);
    last = make_file(at(directories() - 1, "last"), PAGE, WARM);
    MUST(fsync(first));
    did_users(0);
}

static void write_first(void)
{
    for (int i = 0; i < 3; i++)
        WELL(HERE, IO_WRITE, pwrite(first, block, 100, i));
}

static void read_last(void)
{
    for (int i = 0; i < 3; i++)
        WELL(last_place(), IO_READ, pread(last, block, 100, i));
}

static void do_both(void)
{
    write_first();
    read_last();
}

/* An empty read and one that fails are reads. */
static void read_nothing(void)
{
    WELL(HERE, IO_READ, pread(first, block, 100, 1 << 20));
    FAILS(last_place(), IO_READ, EFAULT, pread(last, bad_address, 100, 0));
}

static void only_look(void)
{
    struct stat st;

    WELL(HERE, IO_STAT, fstat(first, &st));
}

static void *thread_write(void *arg)
{
    (void)arg;
    write_first();
    return NULL;
}

static void *thread_read(void *arg)
{
    (void)arg;
    read_last();
    return NULL;
}

/* Six threads of a process whose first thread does nothing. */
static void start_threads(void)
{
    pthread_t threads[6];

    did_users(0);
    for (int i = 0; i < 6; i++)
        MUST(-pthread_create(&threads[i], NULL, i < 4 ? thread_write : thread_read, NULL));
    for (int i = 0; i < 6; i++)
        MUST(-pthread_join(threads[i], NULL));
}

static void do_users(void)
{
    prepare();
    begin();
    for (int i = 0; i < 5; i++)
        in_child(write_first);
    for (int i = 0; i < 3; i++)
        in_child(do_both);
    in_child(read_nothing);
    in_child(only_look);
    in_child(start_threads);
    read_last();
    do_both(); /* a writer now, and still one reader */
}

static void map_write(void)
{
    char *map = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, first, 0);

    if (map == MAP_FAILED)
        die("mmap");
    *map = 1;
    did(HERE, IO_MMAP_WRITE, PAGE);
}

static void copy(void)
{
    loff_t from = 0, to = 0;

    did(HERE, IO_COPY_READ, MUST(copy_file_range(first, &from, last, &to, 100, 0)));
    did(last_place(), IO_COPY_WRITE, 100);
}

static void do_users_ways(void)
{
    prepare();
    begin();
    in_child(map_write);
    in_child(copy);
}

/* More than a mount may have. */
static void do_users_many(void)
{
    prepare();
    did_users(LIMIT);
    begin();
    for (int i = 0; i < LIMIT + 100; i++)
        in_child(write_first);
    read_last();
}

/* Make a child with this id. */
static pid_t fork_as(pid_t id)
{
    struct clone_args args = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&id, .set_tid_size = 1};

    return (pid_t)MUST(syscall(SYS_clone3, &args, sizeof(args)));
}

/* Four processes, one after the other, with the same id. */
static void do_users_reused(void)
{
    pid_t id, child;

    prepare();
    begin();
    for (int i = 0; i < 4; i++) {
        child = i ? fork_as(id) : (pid_t)MUST(fork());
        if (child == 0) {
            do_both();
            _exit(0);
        }
        id = child;
        await(child);
    }
}

const struct workload workloads_users[] = {
    {"users", do_users},
    {"users_ways", do_users_ways},
    {"users_many", do_users_many},
    {"users_reused", do_users_reused},
    {NULL, NULL},
};
