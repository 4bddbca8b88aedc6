/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libaio and io_uring, by their system calls. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/bpf/ring.h"
#include "tests/bpf/workload.h"

#define SIZE (256 * 1024)

static const struct iovec parts[3] = {{block, 100}, {block, 200}, {block, 3000}};

/* --- libaio ----------------------------------------------------------------------------------- */

static void aio_do(aio_context_t context, int op, int fd, const void *buffer, uint64_t n,
                   off_t at_byte)
{
    struct iocb iocb = {.aio_lio_opcode = (unsigned short)op,
                        .aio_fildes = (unsigned)fd,
                        .aio_buf = (uintptr_t)buffer,
                        .aio_nbytes = n,
                        .aio_offset = at_byte};
    struct iocb *list[1] = {&iocb};
    bool writes = op == IOCB_CMD_PWRITE || op == IOCB_CMD_PWRITEV;
    struct io_event event;

    MUST(syscall(SYS_io_submit, context, 1, list));
    MUST(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
    did_async(HERE, writes ? IO_WRITE : IO_READ, (long)event.res);
}

static aio_context_t aio_open(void)
{
    aio_context_t context = 0;

    MUST(syscall(SYS_io_setup, 32, &context));
    return context;
}

static void aio_all(int flags)
{
    int fd;
    aio_context_t context = aio_open();

    close(make_file(IN("file"), SIZE, COLD));
    fd = (int)MUST(open(IN("file"), O_RDWR | flags));
    begin();
    for (int i = 0; i < 5; i++)
        aio_do(context, IOCB_CMD_PWRITE, fd, block, 8192, 8192 * i);
    for (int i = 0; i < 4; i++)
        aio_do(context, IOCB_CMD_PREAD, fd, block, 16384, 65536 * i);
    aio_do(context, IOCB_CMD_PREAD, fd, block, 65536, SIZE - 4096); /* short */
    aio_do(context, IOCB_CMD_PREAD, fd, block, 4096, SIZE);         /* at the end */
    if (flags)
        return;
    aio_do(context, IOCB_CMD_PWRITEV, fd, parts, 3, 10);
    aio_do(context, IOCB_CMD_PREADV, fd, parts, 2, 20);
    aio_do(context, IOCB_CMD_PREAD, fd, bad_address, 4096, 0);
}

static void do_aio(void)
{
    aio_all(0);
}

static void do_aio_direct(void)
{
    aio_all(O_DIRECT);
}

/* Many at once, by a child that exits before they are complete. */
static void aio_and_die(void)
{
    static struct iocb iocbs[16];
    struct iocb *list[16];
    aio_context_t context = aio_open();
    int fd = (int)MUST(open(IN("file"), O_RDWR | O_DIRECT));

    for (int i = 0; i < 16; i++) {
        iocbs[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
                                 .aio_fildes = (unsigned)fd,
                                 .aio_buf = (uintptr_t)block,
                                 .aio_nbytes = 16384,
                                 .aio_offset = 16384 * i};
        list[i] = &iocbs[i];
    }
    begin();
    MUST(syscall(SYS_io_submit, context, 16, list));
    for (int i = 0; i < 16; i++)
        did_async(HERE, IO_READ, 16384);
}

static void do_aio_unwaited(void)
{
    close(make_file(IN("file"), SIZE, COLD));
    in_child(aio_and_die);
}

static void do_aio_fsync(void)
{
    int fd = make_file(IN("file"), SIZE, WARM);
    struct iocb iocb = {.aio_lio_opcode = IOCB_CMD_FSYNC, .aio_fildes = (unsigned)fd};
    struct iocb *list[1] = {&iocb};
    aio_context_t context = aio_open();
    struct io_event event;

    begin();
    MUST(syscall(SYS_io_submit, context, 1, list));
    MUST(syscall(SYS_io_getevents, context, 1, 1, &event, NULL));
    did_async(HERE, IO_FSYNC, (long)event.res);
}

/* A call that io_submit(2) refuses has no completion; it counts if it reached its file. */
static int aio_refused(aio_context_t context, int op, int fd, const void *buffer, unsigned flags)
{
    struct iocb iocb = {.aio_lio_opcode = (unsigned short)op,
                        .aio_fildes = (unsigned)fd,
                        .aio_buf = (uintptr_t)buffer,
                        .aio_nbytes = 2,
                        .aio_rw_flags = (int)flags};
    struct iocb *list[1] = {&iocb};

    if (syscall(SYS_io_submit, context, 1, list) >= 0)
        die("io_submit took it");
    return -errno;
}

static void do_aio_refused(void)
{
    aio_context_t context = aio_open();
    int fd = make_file(IN("file"), SIZE, WARM), reader = (int)MUST(open(IN("file"), O_RDONLY));

    begin();
    for (int i = 0; i < 3; i++)
        did_async(HERE, IO_WRITE, aio_refused(context, IOCB_CMD_PWRITE, reader, block, 0));
    did_async(HERE, IO_READ, aio_refused(context, IOCB_CMD_PREADV, fd, bad_address, 0));
    did_async(HERE, IO_READ, aio_refused(context, IOCB_CMD_PREAD, fd, block, 0x8000));
    aio_refused(context, IOCB_CMD_PREAD, 999, block, 0);
    aio_refused(context, 99, fd, block, 0);
    aio_do(context, IOCB_CMD_PREAD, fd, block, 4096, 0);
}

/* Many in flight, as O_DIRECT makes them. */
static void aio_many(aio_context_t context, int fd, int n)
{
    struct iocb iocbs[32], *list[32];

    for (int i = 0; i < n; i++) {
        iocbs[i] = (struct iocb){.aio_lio_opcode = IOCB_CMD_PREAD,
                                 .aio_fildes = (unsigned)fd,
                                 .aio_buf = (uintptr_t)block,
                                 .aio_nbytes = 4096,
                                 .aio_offset = 4096 * i};
        list[i] = &iocbs[i];
    }
    MUST(syscall(SYS_io_submit, context, n, list));
    for (int i = 0; i < n; i++)
        did_async(HERE, IO_READ, 4096);
}

static void *aio_thread(void *arg)
{
    aio_context_t context = aio_open();
    struct io_event events[32];

    for (int i = 0; i < 8; i++) {
        aio_many(context, *(int *)arg, 32);
        MUST(syscall(SYS_io_getevents, context, 32, 32, events, NULL));
    }
    return NULL;
}

static void do_aio_threads(void)
{
    pthread_t threads[8];
    int fd;

    close(make_file(IN("file"), SIZE, COLD));
    fd = (int)MUST(open(IN("file"), O_RDONLY | O_DIRECT));
    did_users(0);
    begin();
    for (int i = 0; i < 8; i++)
        MUST(-pthread_create(&threads[i], NULL, aio_thread, &fd));
    for (int i = 0; i < 8; i++)
        MUST(-pthread_join(threads[i], NULL));
}

/* io_destroy(2) waits for calls in flight, and io_cancel(2) cannot cancel I/O on files. */
static void do_aio_destroy(void)
{
    struct iocb iocb = {.aio_lio_opcode = IOCB_CMD_PREAD};
    aio_context_t context = aio_open();
    struct io_event event;
    int fd;

    close(make_file(IN("file"), SIZE, COLD));
    fd = (int)MUST(open(IN("file"), O_RDONLY | O_DIRECT));
    begin();
    aio_many(context, fd, 32);
    if (syscall(SYS_io_cancel, context, &iocb, &event) == 0)
        die("io_cancel cancelled");
    MUST(syscall(SYS_io_destroy, context));
}

/* --- io_uring --------------------------------------------------------------------------------- */

static struct ring ring;

static void start_ring(unsigned flags)
{
    if (!ring_open(&ring, flags))
        die("io_uring_setup");
}

static struct io_uring_sqe *next(int op, int fd, const void *buffer, unsigned n, off_t at_byte)
{
    struct io_uring_sqe *sqe = ring_next(&ring);

    sqe->opcode = (unsigned char)op;
    sqe->fd = fd;
    sqe->addr = (uintptr_t)buffer;
    sqe->len = n;
    sqe->off = (uint64_t)at_byte;
    return sqe;
}

static void uring_rw(int op, int fd, const void *buffer, unsigned n, off_t at_byte, unsigned flags)
{
    bool writes = op == IORING_OP_WRITE || op == IORING_OP_WRITEV || op == IORING_OP_WRITE_FIXED;

    next(op, fd, buffer, n, at_byte)->flags = (unsigned char)flags;
    did_async(HERE, writes ? IO_WRITE : IO_READ, ring_do(&ring));
}

static void uring_all(int fd, unsigned flags)
{
    for (int i = 0; i < 5; i++)
        uring_rw(IORING_OP_WRITE, fd, block, 8192, 8192 * i, flags);
    for (int i = 0; i < 4; i++)
        uring_rw(IORING_OP_READ, fd, block, 16384, 65536 * i, flags);
    uring_rw(IORING_OP_READ, fd, block, 65536, SIZE - 4096, flags); /* short */
    uring_rw(IORING_OP_READ, fd, block, 4096, SIZE, flags);         /* at the end */
}

static int cold_file(int flags)
{
    close(make_file(IN("file"), SIZE, COLD));
    return (int)MUST(open(IN("file"), O_RDWR | flags));
}

static void do_uring(void)
{
    int fd = cold_file(0);

    start_ring(0);
    begin();
    uring_all(fd, 0);
    uring_rw(IORING_OP_WRITEV, fd, parts, 3, 10, 0);
    uring_rw(IORING_OP_READV, fd, parts, 2, 20, 0);
    uring_rw(IORING_OP_READ, fd, bad_address, 4096, 0, 0);
}

static void do_uring_direct(void)
{
    int fd = cold_file(O_DIRECT);

    start_ring(0);
    begin();
    uring_all(fd, 0);
}

static void do_uring_async(void)
{
    int fd = cold_file(0);

    start_ring(0);
    did_users(0);
    begin();
    uring_all(fd, IOSQE_ASYNC);
}

static void do_uring_sqpoll(void)
{
    int fd = cold_file(0);

    did_users(0);
    begin(); /* before io_uring starts its thread, so that the thread is in the job, too */
    start_ring(IORING_SETUP_SQPOLL);
    MUST(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &fd, 1));
    uring_all(0, IOSQE_FIXED_FILE);
    close(ring.fd);
}

static void do_uring_fixed(void)
{
    struct iovec whole = {block, BLOCK};
    int fd = cold_file(0);

    start_ring(0);
    MUST(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &whole, 1));
    begin();
    uring_rw(IORING_OP_WRITE_FIXED, fd, block, 12288, 0, 0);
    uring_rw(IORING_OP_READ_FIXED, fd, block, 20480, 4096, 0);
    uring_rw(IORING_OP_READ_FIXED, fd, block, 4096, 0, IOSQE_ASYNC);
}

/* Many at once, linked or not. */
static void do_uring_batch(void)
{
    int fd = cold_file(O_DIRECT);

    start_ring(0);
    begin();
    for (int i = 0; i < 16; i++)
        next(IORING_OP_READ, fd, block + 16384 * i, 16384, 16384 * i)->flags =
            i % 4 == 1 ? IOSQE_IO_LINK : 0;
    ring_submit(&ring);
    for (int i = 0; i < 16; i++)
        did_async(HERE, IO_READ, ring_wait(&ring).res);
}

/* Requests without a completion on success. */
static void do_uring_skip(void)
{
    int fd = cold_file(0);

    start_ring(0);
    begin();
    for (int i = 0; i < 3; i++) {
        next(IORING_OP_READ, fd, block, 4096, 4096 * i)->flags =
            IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
        did_async(HERE, IO_READ, 4096);
    }
    next(IORING_OP_WRITE, fd, block, 500, 0);
    did_async(HERE, IO_WRITE, ring_do(&ring));
}

/* The same if the request completes later: by the disk, or in another thread. */
static void do_uring_skip_late(void)
{
    struct iovec whole = {block, BLOCK};
    int fd = cold_file(O_DIRECT);

    start_ring(0);
    MUST(syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, &whole, 1));
    begin();
    for (int i = 0; i < 12; i++) {
        int op = i % 3 == 0 ? IORING_OP_READ : i % 3 == 1 ? IORING_OP_READ_FIXED : IORING_OP_WRITE;

        next(op, fd, block, 8192, 8192 * i)->flags =
            IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK | (i % 2 ? IOSQE_ASYNC : 0);
        did_async(HERE, op == IORING_OP_WRITE ? IO_WRITE : IO_READ, 8192);
    }
    next(IORING_OP_WRITE, fd, block, 4096, 0);
    did_async(HERE, IO_WRITE, ring_do(&ring));
    /* Short: it has a completion after all. */
    next(IORING_OP_READ, fd, block, 8192, SIZE - 4096)->flags = IOSQE_CQE_SKIP_SUCCESS;
    did_async(HERE, IO_READ, ring_do(&ring));
}

/* On a disk with polled completions. */
static void do_uring_polled(void)
{
    int fd = cold_file(O_DIRECT);

    start_ring(IORING_SETUP_IOPOLL);
    begin();
    for (int i = 0; i < 8; i++)
        uring_rw(i % 2 ? IORING_OP_READ : IORING_OP_WRITE, fd, block, 8192, 8192 * i, 0);
    for (int i = 0; i < 5; i++) {
        next(IORING_OP_READ, fd, block, 4096, 4096 * i)->flags =
            IOSQE_CQE_SKIP_SUCCESS | IOSQE_IO_LINK;
        did_async(HERE, IO_READ, 4096);
    }
    uring_rw(IORING_OP_READ, fd, block, 65536, SIZE - 4096, 0);
}

/* More completions than the ring holds (128). */
static void do_uring_overflow(void)
{
    int fd = cold_file(0);

    start_ring(0);
    begin();
    for (int batch = 0; batch < 3; batch++) {
        for (int i = 0; i < 64; i++)
            next(IORING_OP_READ, fd, block, 512, 512 * i)->flags = 0;
        ring_submit(&ring);
    }
    for (int i = 0; i < 3 * 64; i++)
        did_async(HERE, IO_READ, ring_wait(&ring).res);
}

/* A request that reached no file does not count; one that a file refused does. */
static void do_uring_refused(void)
{
    int fd = cold_file(0), reader = (int)MUST(open(IN("file"), O_RDONLY));

    start_ring(0);
    begin();
    uring_rw(IORING_OP_WRITE, reader, block, 100, 0, 0); /* EBADF: not open for writing */
    next(IORING_OP_READ, 999, block, 100, 0);
    if (ring_do(&ring) != -EBADF)
        die("no such descriptor");
    next(200, fd, block, 100, 0);
    if (ring_do(&ring) != -EINVAL)
        die("no such operation");
    next(IORING_OP_READ, fd, block, 8192, SIZE - 4096)->flags = IOSQE_IO_LINK; /* short */
    next(IORING_OP_READ, fd, block, 4096, 0);
    ring_submit(&ring);
    for (int i = 0; i < 2; i++) {
        int result = ring_wait(&ring).res;

        if (result != -ECANCELED)
            did_async(HERE, IO_READ, result);
    }
}

/* An open that would block is repeated in another thread, but counts once. */
static void do_uring_open(void)
{
    int fd;

    close(make_file(IN("cold"), 1000, COLD));
    start_ring(0);
    fd = (int)MUST(open("/proc/sys/vm/drop_caches", O_WRONLY));
    MUST(write(fd, "2", 1));
    begin();
    next(IORING_OP_OPENAT, AT_FDCWD, IN("cold"), 0, 0)->open_flags = O_RDONLY;
    did_async(HERE, IO_OPEN, ring_do(&ring));
}

static void do_uring_killed(void)
{
    int fd = cold_file(O_DIRECT);
    pid_t pid = (pid_t)MUST(fork());

    if (pid == 0) {
        start_ring(0);
        begin();
        for (int i = 0; i < 8; i++)
            next(IORING_OP_READ, fd, block + 16384 * i, 16384, 16384 * i);
        ring_submit(&ring);
        _exit(0);
    }
    await(pid);
    usleep(100000);
    for (int i = 0; i < 8; i++)
        did_async(HERE, IO_READ, 16384);
}

/* Metadata: the same functions as for system calls, in threads of io_uring. */
static void do_uring_meta(void)
{
    int fd = make_file(IN("file"), 1000, WARM), opened;
    struct statx stx;

    start_ring(0);
    begin();
    next(IORING_OP_FSYNC, fd, NULL, 0, 0);
    did_async(HERE, IO_FSYNC, ring_do(&ring));
    next(IORING_OP_OPENAT, AT_FDCWD, IN("new"), 0600, 0)->open_flags = O_WRONLY | O_CREAT;
    opened = ring_do(&ring);
    did_async(HERE, IO_OPEN, opened);
    did(HERE, IO_CREATE, 0);
    next(IORING_OP_STATX, AT_FDCWD, IN("file"), STATX_ALL, (off_t)(uintptr_t)&stx);
    did_async(HERE, IO_STAT, ring_do(&ring));
    next(IORING_OP_CLOSE, opened, NULL, 0, 0);
    MUST(ring_do(&ring));
}

const struct workload workloads_async[] = {
    {"aio", do_aio},
    {"aio_direct", do_aio_direct},
    {"aio_unwaited", do_aio_unwaited},
    {"aio_fsync", do_aio_fsync},
    {"aio_refused", do_aio_refused},
    {"aio_threads", do_aio_threads},
    {"aio_destroy", do_aio_destroy},
    {"uring", do_uring},
    {"uring_direct", do_uring_direct},
    {"uring_async", do_uring_async},
    {"uring_sqpoll", do_uring_sqpoll},
    {"uring_fixed", do_uring_fixed},
    {"uring_batch", do_uring_batch},
    {"uring_skip", do_uring_skip},
    {"uring_skip_late", do_uring_skip_late},
    {"uring_polled", do_uring_polled},
    {"uring_overflow", do_uring_overflow},
    {"uring_refused", do_uring_refused},
    {"uring_open", do_uring_open},
    {"uring_killed", do_uring_killed},
    {"uring_meta", do_uring_meta},
    {NULL, NULL},
};
