/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes, in every way that a file loses its last user, and locks. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

#define FLAGS (O_RDWR | O_CREAT)

static void *map(int fd)
{
    void *bytes = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

    if (bytes == MAP_FAILED)
        die("mmap");
    return bytes;
}

/* close(2), also of what does not count: a descriptor that is closed, a directory, a pipe. */
static void do_close_calls(void)
{
    int fds[2];

    begin();
    for (int i = 0; i < 7; i++) {
        fds[0] = do_open(HERE, IN("file"), FLAGS);
        WELL(HERE, IO_WRITE, write(fds[0], block, 5000));
        do_close(HERE, fds[0]);
    }
    do_close(HERE, do_open(HERE, IN("file"), O_PATH));
    if (close(fds[0]) == 0 || errno != EBADF)
        die("a closed descriptor");
    MUST(close(do_open(HERE, IN("."), O_RDONLY | O_DIRECTORY)));
    MUST(pipe2(fds, O_CLOEXEC));
    MUST(close(fds[0]));
    MUST(close(fds[1]));
}

/* A request each time that the last descriptor of an open file is closed. */
static void do_close_dup(void)
{
    int first, second;

    begin();
    first = do_open(HERE, IN("first"), FLAGS);
    second = (int)MUST(fcntl(first, F_DUPFD_CLOEXEC, 0));
    MUST(close(first));
    do_close(HERE, second);
    first = do_open(HERE, IN("first"), FLAGS);
    second = do_open(HERE, IN("second"), FLAGS);
    MUST(dup3(first, second, O_CLOEXEC));
    did(HERE, IO_CLOSE, 0); /* the second file */
    MUST(close(second));
    do_close(HERE, first);
}

static void do_close_range(void)
{
    int first = 0, last = 0;

    begin();
    for (int i = 0; i < 5; i++) {
        last = do_open(HERE, IN("file"), FLAGS);
        first = first ? first : last;
        did(HERE, IO_CLOSE, 0);
    }
    MUST(syscall(SYS_close_range, first, last, 0));
}

static void open_three(void)
{
    for (int i = 0; i < 3; i++) {
        int fd = do_open(HERE, IN("file"), FLAGS);

        WELL(HERE, IO_WRITE, write(fd, block, 100));
        did(HERE, IO_CLOSE, 0); /* at the end of the process */
    }
}

static void kill_itself(void)
{
    open_three();
    abort();
}

/* By _exit(2) and by a signal; the last user of an inherited file is the child. */
static void do_close_exit(void)
{
    int fd = make_file(IN("inherited"), 100, WARM), status;
    pid_t pid;

    begin();
    in_child(open_three);
    pid = (pid_t)MUST(fork());
    if (pid == 0)
        kill_itself();
    MUST(waitpid(pid, &status, 0));
    pid = (pid_t)MUST(fork());
    MUST(close(fd));
    if (pid == 0) {
        did(HERE, IO_CLOSE, 0);
        _exit(0);
    }
    await(pid);
}

/* The new program leaves the job before it ends. */
static void start_program(void)
{
    char *const arguments[] = {"workload", NULL};

    did(HERE, IO_CLOSE, 0);
    (void)do_open(HERE, IN("file"), FLAGS);
    did_exec();
    execv("/proc/self/exe", arguments);
    die("execv");
}

static void do_close_exec(void)
{
    int status;
    pid_t pid;

    begin();
    pid = (pid_t)MUST(fork());
    if (pid == 0) {
        MUST(dup2((int)MUST(open("/dev/null", O_WRONLY | O_CLOEXEC)), 2));
        start_program();
    }
    MUST(waitpid(pid, &status, 0));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 2)
        die("the program");
}

/* A mapping uses the file after close(2). */
static void do_close_mmap(void)
{
    int fd = make_file(IN("file"), 4096, WARM);
    void *bytes;

    MUST(close(fd));
    begin();
    for (int i = 0; i < 3; i++) {
        fd = do_open(HERE, IN("file"), O_RDWR);
        bytes = map(fd);
        MUST(close(fd));
        MUST(munmap(bytes, 4096));
        did(HERE, IO_CLOSE, 0);
    }
}

/* Memory is a file for the kernel, but nobody opened it. */
static void do_close_memory(void)
{
    void *bytes;
    int fd;

    begin();
    MUST(close((int)MUST(memfd_create("memory", MFD_CLOEXEC))));
    bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED)
        die("mmap");
    MUST(munmap(bytes, 4096));
    fd = do_open(HERE, IN("file"), FLAGS);
    do_close(HERE, fd);
}

/* Who closes a file has the request, whoever opened it. */
static void do_close_across(void)
{
    int before = make_file(IN("before"), 100, WARM), inside;

    begin();
    do_close(HERE, before);
    inside = do_open(HERE, IN("inside"), FLAGS);
    leave();
    MUST(close(inside));
    begin();
}

static int lock(int fd, int command, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 10, .l_len = 20};

    return fcntl(fd, command, &lock);
}

static void lock_elsewhere(void)
{
    int fd = do_open(HERE, IN("file"), O_RDWR);

    FAILS(HERE, IO_LOCK, EAGAIN, lock(fd, F_SETLK, F_WRLCK));
    WELL(HERE, IO_LOCK, lock(fd, F_GETLK, F_WRLCK));
    do_close(HERE, fd);
}

static void do_locks_posix(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("file"), FLAGS);
    for (int i = 0; i < 3; i++) {
        WELL(HERE, IO_LOCK, lock(fd, F_SETLKW, F_WRLCK));
        in_child(lock_elsewhere);
        WELL(HERE, IO_LOCK, lock(fd, F_SETLK, F_UNLCK));
    }
    FAILS(HERE, IO_LOCK, EINVAL, lock(fd, F_SETLK, 77));
    if (lock(-1, F_SETLK, F_WRLCK) == 0 || errno != EBADF)
        die("no descriptor");
    do_close(HERE, fd);
}

static void do_locks_ofd(void)
{
    int first, second;

    begin();
    first = do_open(HERE, IN("file"), FLAGS);
    second = do_open(HERE, IN("file"), FLAGS);
    WELL(HERE, IO_LOCK, lock(first, F_OFD_SETLKW, F_WRLCK));
    FAILS(HERE, IO_LOCK, EAGAIN, lock(second, F_OFD_SETLK, F_RDLCK));
    WELL(HERE, IO_LOCK, lock(second, F_OFD_GETLK, F_RDLCK));
    WELL(HERE, IO_LOCK, lock(first, F_OFD_SETLK, F_UNLCK));
    do_close(HERE, first);
    do_close(HERE, second);
}

static void do_locks_flock(void)
{
    int first, second;

    begin();
    first = do_open(HERE, IN("file"), FLAGS);
    second = do_open(HERE, IN("file"), FLAGS);
    WELL(HERE, IO_LOCK, flock(first, LOCK_SH));
    WELL(HERE, IO_LOCK, flock(second, LOCK_SH));
    FAILS(HERE, IO_LOCK, EAGAIN, flock(second, LOCK_EX | LOCK_NB));
    WELL(HERE, IO_LOCK, flock(first, LOCK_UN));
    FAILS(HERE, IO_LOCK, EINVAL, flock(first, 0));
    if (flock(-1, LOCK_SH) == 0 || errno != EBADF)
        die("no descriptor");
    do_close(HERE, first);
    do_close(HERE, second);
}

/* The thread sleeps only in flock(2), so that its sleep shows where it is. */
struct waiter {
    int fd;
    atomic_int thread; /* its id; 0: it has not started */
};

static void *wait_for_lock(void *arg)
{
    struct waiter *waiter = arg;

    waiter->thread = (int)syscall(SYS_gettid);
    WELL(HERE, IO_LOCK, flock(waiter->fd, LOCK_EX));
    return NULL;
}

/* While a thread waits for a lock, its descriptor becomes one of a file on the second directory. */
static void do_locks_replaced(void)
{
    struct waiter waiter = {0};
    pthread_t thread;
    int first, other;

    begin();
    first = do_open(HERE, IN("file"), FLAGS);
    waiter.fd = do_open(HERE, IN("file"), FLAGS);
    other = do_open(place_at(1), at(1, "file"), FLAGS);
    WELL(HERE, IO_LOCK, flock(first, LOCK_EX));
    MUST(-pthread_create(&thread, NULL, wait_for_lock, &waiter));
    while (!waiter.thread)
        usleep(1000);
    await_sleep(waiter.thread);
    MUST(dup2(other, waiter.fd));
    WELL(HERE, IO_LOCK, flock(first, LOCK_UN));
    MUST(-pthread_join(thread, NULL));
}

const struct workload workloads_close[] = {
    {"close_calls", do_close_calls},
    {"close_dup", do_close_dup},
    {"close_range", do_close_range},
    {"close_exit", do_close_exit},
    {"close_exec", do_close_exec},
    {"close_mmap", do_close_mmap},
    {"close_memory", do_close_memory},
    {"close_across", do_close_across},
    {"locks_posix", do_locks_posix},
    {"locks_ofd", do_locks_ofd},
    {"locks_flock", do_locks_flock},
    {"locks_replaced", do_locks_replaced},
    {NULL, NULL},
};
