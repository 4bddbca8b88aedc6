/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Synchronous reads and writes. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

static const struct iovec parts[3] = {{block, 100}, {block, 200}, {block, 3000}};

static void do_write(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("file"), O_WRONLY | O_CREAT);
    for (int i = 0; i < 10; i++)
        WELL(HERE, IO_WRITE, write(fd, block, 4096));
    WELL(HERE, IO_WRITE, write(fd, block, BLOCK));
    WELL(HERE, IO_WRITE, write(fd, block, 0));
    WELL(HERE, IO_WRITE, write(fd, block, 1));
    WELL(HERE, IO_WRITE, write(fd, block, 2));
}

static void do_read(void)
{
    int fd = make_file(IN("file"), BLOCK, WARM);

    begin();
    MUST(lseek(fd, 0, SEEK_SET));
    for (int i = 0; i < 7; i++)
        WELL(HERE, IO_READ, read(fd, block, 1000 + i));
    /* Short reads at the end, and empty reads beyond it. */
    while (WELL(HERE, IO_READ, read(fd, block, 100003)) > 0)
        ;
    WELL(HERE, IO_READ, pread(fd, block, 100, 1 << 30));
}

static void do_pwrite(void)
{
    int fd = make_file(IN("file"), 0, WARM);

    begin();
    for (int i = 0; i < 9; i++)
        WELL(HERE, IO_WRITE, pwrite(fd, block, 1000 + i, 40960 + 1000 * i));
}

static void do_pread(void)
{
    int fd = make_file(IN("file"), 40960, WARM);

    begin();
    for (int i = 0; i < 9; i++)
        WELL(HERE, IO_READ, pread(fd, block, 5000, 5000 * i));
}

static void do_writev(void)
{
    int fd = make_file(IN("file"), 0, WARM);

    begin();
    for (int i = 0; i < 5; i++)
        WELL(HERE, IO_WRITE, writev(fd, parts, 3));
    for (int i = 0; i < 4; i++)
        WELL(HERE, IO_WRITE, pwritev(fd, parts, 2, 100));
    for (int i = 0; i < 3; i++)
        WELL(HERE, IO_WRITE, pwritev2(fd, parts, 3, 0, RWF_DSYNC));
    WELL(HERE, IO_WRITE, pwritev2(fd, parts, 2, -1, RWF_APPEND));
}

static void do_readv(void)
{
    int fd = make_file(IN("file"), 20000, WARM);

    begin();
    MUST(lseek(fd, 0, SEEK_SET));
    for (int i = 0; i < 7; i++) /* the last ones short and empty */
        WELL(HERE, IO_READ, readv(fd, parts, 3));
    for (int i = 0; i < 8; i++)
        WELL(HERE, IO_READ, preadv(fd, parts, 2, 50));
    for (int i = 0; i < 9; i++)
        WELL(HERE, IO_READ, preadv2(fd, parts, 2, 50, i & 1 ? RWF_HIPRI : 0));
    MUST(lseek(fd, 0, SEEK_SET));
    WELL(HERE, IO_READ, preadv2(fd, parts, 3, -1, 0));
}

/* Nothing is in the page cache, and RWF_NOWAIT does not wait for it. */
static void do_nowait(void)
{
    int cold = make_file(IN("cold"), 65536, COLD), warm = make_file(IN("warm"), 65536, WARM);

    begin();
    FAILS(HERE, IO_READ, EAGAIN, preadv2(cold, parts, 1, 0, RWF_NOWAIT));
    WELL(HERE, IO_READ, preadv2(warm, parts, 3, 0, RWF_NOWAIT));
}

static void do_sync(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("sync"), O_RDWR | O_CREAT | O_SYNC);
    for (int i = 0; i < 5; i++) /* fsyncs inside the write */
        WELL(HERE, IO_WRITE, write(fd, block, 777));
    fd = do_open(HERE, IN("dsync"), O_RDWR | O_CREAT | O_DSYNC);
    WELL(HERE, IO_WRITE, write(fd, block, 778));
    WELL(HERE, IO_WRITE, writev(fd, parts, 3));
}

static void do_direct(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("direct"), O_RDWR | O_CREAT | O_DIRECT);
    for (int i = 0; i < 4; i++)
        WELL(HERE, IO_WRITE, pwrite(fd, block, 65536, 65536 * i));
    for (int i = 0; i < 3; i++)
        WELL(HERE, IO_READ, pread(fd, block, 16384, 65536 * i));
    WELL(HERE, IO_READ, pread(fd, block, 65536, 3 * 65536 + 32768)); /* short */
    FAILS(HERE, IO_READ, EINVAL, pread(fd, block + 1, 77, 13));
}

static void do_sparse(void)
{
    int fd = make_file(IN("file"), 0, WARM);

    begin();
    WELL(HERE, IO_WRITE, pwrite(fd, block, 1, 1 << 30));
    for (int i = 0; i < 4; i++)
        WELL(HERE, IO_READ, pread(fd, block, 65536, (off_t)i << 26));
    WELL(HERE, IO_READ, pread(fd, block, 65536, (1 << 30) - 100));
}

static void do_unlinked(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("file"), O_RDWR | O_CREAT);
    WELL(HERE, IO_UNLINK, unlink(IN("file")));
    for (int i = 0; i < 6; i++)
        WELL(HERE, IO_WRITE, write(fd, block, 333));
    WELL(HERE, IO_READ, pread(fd, block, 4096, 0));
}

/* A file that never had a name does not count as a create. */
static void do_tmpfile(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("."), O_RDWR | O_TMPFILE);
    WELL(HERE, IO_WRITE, write(fd, block, 4444));
}

static void do_append(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("log"), O_WRONLY | O_CREAT | O_APPEND);
    for (int i = 0; i < 20; i++)
        WELL(HERE, IO_WRITE, write(fd, block, 10 + i));
}

static void do_efault(void)
{
    int fd = make_file(IN("file"), 65536, WARM);

    begin();
    for (int i = 0; i < 3; i++)
        FAILS(HERE, IO_READ, EFAULT, pread(fd, bad_address, 4096, 0));
    FAILS(HERE, IO_WRITE, EFAULT, pwrite(fd, bad_address, 4096, 0));
}

static void do_wrong_mode(void)
{
    int reader, writer;

    close(make_file(IN("file"), 100, WARM));
    reader = MUST(open(IN("file"), O_RDONLY));
    writer = MUST(open(IN("file"), O_WRONLY));
    begin();
    FAILS(HERE, IO_WRITE, EBADF, write(reader, block, 10));
    FAILS(HERE, IO_WRITE, EBADF, writev(reader, parts, 2));
    FAILS(HERE, IO_READ, EBADF, read(writer, block, 10));
    FAILS(HERE, IO_READ, EBADF, readv(writer, parts, 2));
}

/* The system call itself refuses them. */
static void do_negative_offset(void)
{
    int fd = make_file(IN("file"), 100, WARM);

    begin();
    WELL(HERE, IO_READ, pread(fd, block, 10, 0));
    if (pread(fd, block, 10, -1) >= 0 || errno != EINVAL || pwrite(fd, block, 10, -1) >= 0 ||
        errno != EINVAL || preadv(fd, parts, 2, -2) >= 0 || errno != EINVAL ||
        pwritev(fd, parts, 2, -2) >= 0 || errno != EINVAL)
        die("a negative offset");
}

/* Write until the file system is full. Whether the second last write is short depends on the file
 * system. */
static void do_full(void)
{
    int fd;

    begin();
    fd = do_open(HERE, IN("file"), O_WRONLY | O_CREAT);
    while (did(HERE, IO_WRITE, write(fd, block, 50000)) > 0)
        ;
    if (errno != ENOSPC && errno != EDQUOT)
        die("write");
}

/* The same with a user's quota, which does not apply to root. */
static void do_quota(void)
{
    MUST(chmod(IN("."), 0777));
    MUST(syscall(SYS_setresuid, -1, 65534, -1));
    do_full();
    MUST(syscall(SYS_setresuid, -1, 0, -1));
}

/* Pipes, sockets and the kernel's own file systems pass through the same functions. */
static void do_uncounted(void)
{
    int pipes[2], fd, null;

    MUST(pipe(pipes));
    begin();
    fd = MUST(open("/proc/self/stat", O_RDONLY));
    null = MUST(open("/dev/null", O_RDWR));
    MUST(write(pipes[1], block, 100));
    MUST(read(pipes[0], block, 100));
    MUST(read(fd, block, 100));
    MUST(write(null, block, 5));
    MUST(access("/sys/kernel", F_OK));
}

const struct workload workloads_data[] = {
    {"write", do_write},
    {"read", do_read},
    {"pwrite", do_pwrite},
    {"pread", do_pread},
    {"writev", do_writev},
    {"readv", do_readv},
    {"nowait", do_nowait},
    {"sync", do_sync},
    {"direct", do_direct},
    {"sparse", do_sparse},
    {"unlinked", do_unlinked},
    {"tmpfile", do_tmpfile},
    {"append", do_append},
    {"efault", do_efault},
    {"wrong_mode", do_wrong_mode},
    {"full", do_full},
    {"quota", do_quota},
    {"uncounted", do_uncounted},
    {"negative_offset", do_negative_offset},
    {NULL, NULL},
};
