/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sequential and random reads and writes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/bpf/ring.h"
#include "tests/bpf/workload.h"

#define IN_ORDER(op, call) did_in_order(HERE, op, WELL(HERE, op, call), SEQUENTIAL)
#define OUT_OF_ORDER(op, call) did_in_order(HERE, op, WELL(HERE, op, call), RANDOM)
#define OF_NO_ORDER(op, call) did_in_order(HERE, op, WELL(HERE, op, call), UNKNOWN)

static const struct iovec parts[3] = {{block, 100}, {block, 200}, {block, 3000}};

/* With the file's own offset, up to its end and beyond. */
static void do_order_read(void)
{
    int fd;

    close(make_file(IN("file"), 100000, WARM));
    begin();
    fd = do_open(HERE, IN("file"), O_RDONLY);
    for (int i = 0; i < 12; i++) /* the ones at the end are short and empty */
        IN_ORDER(IO_READ, read(fd, block, 9999));
    MUST(lseek(fd, 0, SEEK_SET));
    OUT_OF_ORDER(IO_READ, read(fd, block, 1));
    MUST(lseek(fd, 1, SEEK_SET));
    IN_ORDER(IO_READ, readv(fd, parts, 3));
    IN_ORDER(IO_READ, preadv(fd, parts, 3, 3301));
    IN_ORDER(IO_READ, pread(fd, block, 10, 6601));
    OUT_OF_ORDER(IO_READ, readv(fd, parts, 1)); /* where readv() ended */
    close(fd);
    /* Each open file has its own order; the first request may start anywhere. */
    fd = do_open(HERE, IN("file"), O_RDONLY);
    OUT_OF_ORDER(IO_READ, pread(fd, block, 10, 10));
    IN_ORDER(IO_READ, pread(fd, block, 10, 20));
}

static void do_order_write(void)
{
    int fd, log;

    begin();
    fd = do_open(HERE, IN("file"), O_RDWR | O_CREAT | O_TRUNC);
    for (int i = 0; i < 10; i++)
        IN_ORDER(IO_WRITE, write(fd, block, 1000));
    IN_ORDER(IO_WRITE, pwritev(fd, parts, 3, 10000));
    OUT_OF_ORDER(IO_WRITE, writev(fd, parts, 3));        /* after the last write() */
    OUT_OF_ORDER(IO_READ, pread(fd, block, 100, 13000)); /* reads and writes are one order */
    OUT_OF_ORDER(IO_WRITE, pwrite(fd, block, 100, 13300));
    for (int i = 0; i < 5; i++) {
        log = do_open(HERE, IN("log"), O_WRONLY | O_CREAT | O_APPEND);
        for (int j = 0; j < 5; j++)
            IN_ORDER(IO_WRITE, write(log, block, 10 + i));
        close(log);
    }
}

static void do_order_random(void)
{
    int fd;

    close(make_file(IN("file"), 1 << 20, WARM));
    begin();
    fd = do_open(HERE, IN("file"), O_RDWR);
    for (int i = 63; i >= 0; i--) /* backwards */
        OUT_OF_ORDER(IO_READ, pread(fd, block, 4096, 16384 * i));
    for (int i = 1; i < 64; i++) /* in strides */
        OUT_OF_ORDER(IO_READ, pread(fd, block, 4096, 16384 * i));
    for (int i = 0; i < 100; i++) /* 16 different, in a large cycle */
        OUT_OF_ORDER(IO_WRITE, pwrite(fd, block, 512, 65536 * (i * 7 % 16)));
    for (int i = 0; i < 10; i++) /* the same one repeatedly */
        OUT_OF_ORDER(IO_READ, pread(fd, block, 512, 65536));
}

/* A failed request has no bytes. */
static void do_order_errors(void)
{
    int fd;

    close(make_file(IN("file"), 65536, WARM));
    begin();
    fd = do_open(HERE, IN("file"), O_RDWR);
    FAILS(HERE, IO_READ, EFAULT, pread(fd, bad_address, 4096, 0));
    did_in_order(HERE, IO_READ, 0, SEQUENTIAL);
    FAILS(HERE, IO_READ, EFAULT, pread(fd, bad_address, 4096, 4096));
    did_in_order(HERE, IO_READ, 0, RANDOM);
    IN_ORDER(IO_READ, pread(fd, block, 4096, 4096));
}

/* Two open files of one file: each has its own order, even if they alternate. */
static void do_order_two(void)
{
    int one, two;

    close(make_file(IN("file"), 100000, WARM));
    begin();
    one = do_open(HERE, IN("file"), O_RDONLY);
    two = do_open(HERE, IN("file"), O_RDWR);
    for (int i = 0; i < 20; i++) {
        IN_ORDER(IO_READ, read(one, block, 1000));
        IN_ORDER(IO_WRITE, write(two, block, 3000));
    }
}

/* The same open file through other descriptors, and in other processes. */
static int shared;

static void read_on(void)
{
    for (int i = 0; i < 10; i++)
        IN_ORDER(IO_READ, read(shared, block, 100));
    OUT_OF_ORDER(IO_READ, pread(shared, block, 100, 50000));
}

static void do_order_shared(void)
{
    int copy;

    close(make_file(IN("file"), 100000, WARM));
    begin();
    shared = do_open(HERE, IN("file"), O_RDONLY);
    IN_ORDER(IO_READ, read(shared, block, 100));
    in_child(read_on);
    IN_ORDER(IO_READ, pread(shared, block, 100, 50100));
    copy = (int)MUST(dup(shared));
    close(shared);
    IN_ORDER(IO_READ, pread(copy, block, 100, 50200));
}

/* Two threads read in turn from one descriptor. */
static pthread_barrier_t turn;

static void *read_in_turns(void *second)
{
    for (int i = 0; i < 40; i++) {
        if ((i & 1) == !!second)
            IN_ORDER(IO_READ, pread(shared, block, 100, 100 * i));
        pthread_barrier_wait(&turn);
    }
    return NULL;
}

static void do_order_threads(void)
{
    pthread_t other;

    close(make_file(IN("file"), 100000, WARM));
    pthread_barrier_init(&turn, NULL, 2);
    begin();
    shared = do_open(HERE, IN("file"), O_RDONLY);
    if (pthread_create(&other, NULL, read_in_turns, &shared))
        die("pthread_create");
    read_in_turns(NULL);
    pthread_join(other, NULL);
}

static void do_order_direct(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("direct"), O_RDWR | O_CREAT | O_DIRECT);
    for (int i = 0; i < 8; i++)
        IN_ORDER(IO_WRITE, write(fd, block, 65536));
    OUT_OF_ORDER(IO_READ, pread(fd, block, 16384, 0));
    for (int i = 1; i < 8; i++)
        IN_ORDER(IO_READ, pread(fd, block, 16384, 16384 * i));
    for (int i = 0; i < 8; i++)
        OUT_OF_ORDER(IO_READ, pread(fd, block, 4096, 65536 * i));
}

/* Transfers inside the kernel. */
static void do_order_transfer(void)
{
    int pipes[2], source, target;
    off_t from = 50000;

    close(make_file(IN("file"), 100000, WARM));
    MUST(pipe(pipes));
    begin();
    source = do_open(HERE, IN("file"), O_RDONLY);
    target = do_open(HERE, IN("target"), O_WRONLY | O_CREAT | O_TRUNC);
    for (int i = 0; i < 3; i++) {
        long n = IN_ORDER(IO_READ, sendfile(target, source, NULL, 10000));

        did_in_order(HERE, IO_WRITE, did(HERE, IO_WRITE, n), SEQUENTIAL);
    }
    IN_ORDER(IO_READ, read(source, block, 100));
    IN_ORDER(IO_WRITE, write(target, block, 100));
    OUT_OF_ORDER(IO_READ, sendfile(pipes[1], source, &from, 4096));
    IN_ORDER(IO_READ, pread(source, block, 10, 54096));
    MUST(read(pipes[0], block, 4096));
    OUT_OF_ORDER(IO_READ, splice(source, NULL, pipes[1], NULL, 4096, 0)); /* at 30100 */
    IN_ORDER(IO_READ, read(source, block, 10));
    IN_ORDER(IO_WRITE, splice(pipes[0], NULL, target, NULL, 4096, 0));
    from = 5;
    OUT_OF_ORDER(IO_READ, splice(source, &from, pipes[1], NULL, 1000, 0));
    IN_ORDER(IO_READ, pread(source, block, 10, 1005));
}

/* Asynchronous requests have unknown order, and so has the next one. */
static void do_order_async(void)
{
    aio_context_t context = 0;
    struct io_event event;
    struct iocb read_it = {.aio_lio_opcode = IOCB_CMD_PREAD,
                           .aio_buf = (uintptr_t)block,
                           .aio_nbytes = 1000,
                           .aio_offset = 200};
    struct iocb *list = &read_it;
    struct ring ring;
    struct io_uring_sqe *next;
    int fd;

    close(make_file(IN("file"), 100000, WARM));
    MUST(syscall(SYS_io_setup, 4, &context));
    if (!ring_open(&ring, 0))
        die("io_uring_setup");
    begin();
    fd = do_open(HERE, IN("file"), O_RDONLY);
    IN_ORDER(IO_READ, pread(fd, block, 100, 0));
    next = ring_next(&ring);
    next->opcode = IORING_OP_READ;
    next->fd = fd;
    next->addr = (uintptr_t)block;
    next->len = 100;
    next->off = 100;
    did_async(HERE, IO_READ, ring_do(&ring));
    OF_NO_ORDER(IO_READ, pread(fd, block, 100, 200));
    IN_ORDER(IO_READ, pread(fd, block, 100, 300));
    read_it.aio_fildes = (unsigned)fd;
    MUST(syscall(SYS_io_submit, context, 1, &list));
    MUST(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
    did_async(HERE, IO_READ, event.res);
    OF_NO_ORDER(IO_READ, pread(fd, block, 100, 1200));
    OUT_OF_ORDER(IO_READ, pread(fd, block, 100, 1200));
}

/* Many open files at once, and then new ones at their addresses. */
#define MANY 900

static void do_order_many(void)
{
    static int files[MANY];

    close(make_file(IN("file"), 100000, WARM));
    begin();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++)
            files[i] = do_open(HERE, IN("file"), O_RDONLY);
        for (int i = 0; i < MANY; i++)
            IN_ORDER(IO_READ, read(files[i], block, 10 + i));
        for (int i = MANY - 1; i >= 0; i--) {
            if (i & 1)
                IN_ORDER(IO_READ, pread(files[i], block, 10, 10 + i));
            else
                OUT_OF_ORDER(IO_READ, pread(files[i], block, 10, 5));
        }
        for (int i = 0; i < MANY; i++)
            close(files[i]);
    }
}

/* More files than there is room for: some have unknown order, but none has a wrong one. If root may
 * not open so many, as in some containers, then as many as possible. */
#define CROWD 60000
#define OTHERS 100

static int crowd_size(void)
{
    struct rlimit room = {CROWD + OTHERS, CROWD + OTHERS};

    if (setrlimit(RLIMIT_NOFILE, &room) == 0)
        return CROWD;
    MUST(getrlimit(RLIMIT_NOFILE, &room));
    room.rlim_cur = room.rlim_max;
    MUST(setrlimit(RLIMIT_NOFILE, &room));
    return room.rlim_max < CROWD + OTHERS ? (int)room.rlim_max - OTHERS : CROWD;
}

static void do_order_crowd(void)
{
    static int files[CROWD];
    int n = crowd_size();

    close(make_file(IN("file"), 1000, WARM));
    begin();
    did_in_crowd(HERE, IO_READ);
    for (int i = 0; i < n; i++) {
        files[i] = do_open(HERE, IN("file"), O_RDONLY);
        IN_ORDER(IO_READ, read(files[i], block, 10));
    }
    for (int i = 0; i < n; i++)
        OUT_OF_ORDER(IO_READ, pread(files[i], block, 10, 5));
}

/* Opened before the program joined the step. */
static void do_order_inherited(void)
{
    int read_before = make_file(IN("file"), 100000, WARM), fresh;

    MUST(lseek(read_before, 0, SEEK_SET));
    MUST(read(read_before, block, 500));
    fresh = (int)MUST(open(IN("file"), O_RDONLY));
    begin();
    IN_ORDER(IO_READ, read(fresh, block, 100));
    OUT_OF_ORDER(IO_READ, read(read_before, block, 100)); /* the first that counts, not at 0 */
    IN_ORDER(IO_READ, read(read_before, block, 100));
}

const struct workload workloads_order[] = {
    {"order_read", do_order_read},
    {"order_write", do_order_write},
    {"order_random", do_order_random},
    {"order_errors", do_order_errors},
    {"order_two", do_order_two},
    {"order_shared", do_order_shared},
    {"order_threads", do_order_threads},
    {"order_direct", do_order_direct},
    {"order_transfer", do_order_transfer},
    {"order_async", do_order_async},
    {"order_many", do_order_many},
    {"order_crowd", do_order_crowd},
    {"order_inherited", do_order_inherited},
    {NULL, NULL},
};
