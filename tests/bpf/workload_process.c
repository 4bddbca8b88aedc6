/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, children, and processes that are killed during a call. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#define THREADS 64

struct thread {
    pthread_t id;
    int fd, number;
};

static void *work_thread(void *arg)
{
    const struct thread *thread = arg;
    char own[1000] = "";
    struct stat st;

    for (int i = 0; i < 20; i++) {
        off_t at_byte = (thread->number * 20 + i) * (off_t)sizeof(own);

        WELL(HERE, IO_WRITE, pwrite(thread->fd, own, sizeof(own), at_byte));
        WELL(HERE, IO_READ, pread(thread->fd, own, sizeof(own), at_byte));
    }
    WELL(HERE, IO_STAT, fstat(thread->fd, &st));
    return NULL;
}

static void do_threads(void)
{
    struct thread threads[THREADS];
    int fd;

    did_users(0);
    begin();
    fd = do_open(HERE, IN("file"), O_RDWR | O_CREAT);
    for (int i = 0; i < THREADS; i++) {
        threads[i] = (struct thread){.fd = fd, .number = i};
        if (pthread_create(&threads[i].id, NULL, work_thread, &threads[i]))
            die("pthread_create");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i].id, NULL);
}

static void tree(int depth)
{
    int fd = do_open(HERE, IN("tree"), O_WRONLY | O_APPEND);

    for (int i = 0; i < 5; i++)
        WELL(HERE, IO_WRITE, write(fd, block, 512));
    for (int i = 0; i < 3 && depth; i++) {
        pid_t pid = (pid_t)MUST(fork());

        if (pid == 0) {
            tree(depth - 1);
            _exit(0);
        }
        await(pid);
    }
    close(fd);
}

static void do_tree(void)
{
    close(make_file(IN("tree"), 0, WARM));
    did_users(0);
    begin();
    tree(3);
}

static void orphan(void)
{
    if (MUST(fork()) == 0) {
        usleep(20000); /* its parent has ended by then */
        close(do_open(HERE, IN("orphan"), O_WRONLY | O_CREAT));
        _exit(0);
    }
}

/* A daemon: its parent does not wait for it. */
static void do_orphan(void)
{
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
    begin();
    in_child(orphan);
    await(-1);
}

/* Opened before the tag, used in the step, closed after it. */
static void do_across(void)
{
    int fd = make_file(IN("file"), 0, WARM);

    begin();
    for (int i = 0; i < 6; i++)
        WELL(HERE, IO_WRITE, write(fd, block, 5000));
    leave();
    MUST(write(fd, block, 50000));
    begin();
    WELL(HERE, IO_WRITE, write(fd, block, 1));
    leave();
    MUST(pread(fd, block, 50000, 0));
    close(fd);
}

/* Processes outside of the job work on the same file. */
static void do_outsider(void)
{
    int fd = make_file(IN("file"), 65536, WARM), ready[2];
    pid_t outsider;

    MUST(pipe(ready));
    outsider = (pid_t)MUST(fork());
    for (long i = 0; outsider == 0; i++) {
        if (pwrite(fd, block, 4096, 0) != 4096 || pread(fd, block, 4096, 0) != 4096)
            _exit(1);
        if (i == 10)
            MUST(write(ready[1], "r", 1));
    }
    MUST(read(ready[0], block, 1));
    begin();
    for (int i = 0; i < 50; i++)
        WELL(HERE, IO_READ, pread(fd, block, 2000, 100));
    leave();
    MUST(kill(outsider, SIGKILL));
    MUST(waitpid(outsider, NULL, 0));
}

/* One large write that SIGKILL interrupts: the file shows how much was written. */
static void do_killed(void)
{
    static struct iovec many[128];
    int fd = make_file(IN("file"), 0, WARM);
    struct stat st = {0};
    pid_t victim;

    for (int i = 0; i < 128; i++)
        many[i] = (struct iovec){block, BLOCK};
    victim = (pid_t)MUST(fork());
    if (victim == 0) {
        begin();
        (void)!writev(fd, many, 128);
        for (;;)
            pause();
    }
    while (st.st_size == 0)
        MUST(fstat(fd, &st));
    MUST(kill(victim, SIGKILL));
    MUST(waitpid(victim, NULL, 0));
    MUST(fstat(fd, &st));
    did(HERE, IO_WRITE, st.st_size);
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
}

static void do_interrupted(void)
{
    const struct sigaction action = {.sa_handler = on_alarm};
    const struct itimerval every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};

    MUST(mkfifo(IN("fifo"), 0600));
    MUST(sigaction(SIGALRM, &action, NULL));
    begin();
    MUST(setitimer(ITIMER_REAL, &every, NULL));
    FAILS(HERE, IO_OPEN, EINTR, open(IN("fifo"), O_WRONLY));
    MUST(setitimer(ITIMER_REAL, &never, NULL));
}

/* SIGKILL during an open that blocks. */
static void do_killed_in_open(void)
{
    pid_t victim;

    MUST(mkfifo(IN("fifo"), 0600));
    victim = (pid_t)MUST(fork());
    if (victim == 0) {
        begin();
        (void)!open(IN("fifo"), O_WRONLY);
        _exit(1);
    }
    await_sleep(victim);
    MUST(kill(victim, SIGKILL));
    MUST(waitpid(victim, NULL, 0));
    errno = EINTR;
    did(HERE, IO_OPEN, -1);
}

const struct workload workloads_process[] = {
    {"threads", do_threads},
    {"tree", do_tree},
    {"orphan", do_orphan},
    {"across", do_across},
    {"outsider", do_outsider},
    {"killed", do_killed},
    {"interrupted", do_interrupted},
    {"killed_in_open", do_killed_in_open},
    {NULL, NULL},
};
