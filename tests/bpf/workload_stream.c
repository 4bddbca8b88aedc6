/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files without an offset, on our own FUSE file system. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/bpf/workload.h"

enum { ROOT = FUSE_ROOT_ID, STREAM, PLAIN }; /* the only inodes */

static void answer(int server, uint64_t unique, int error, const void *what, size_t size)
{
    struct fuse_out_header header = {
        .len = (uint32_t)(sizeof(header) + size), .error = -error, .unique = unique};
    const struct iovec parts[2] = {{&header, sizeof(header)}, {(void *)what, size}};

    (void)!writev(server, parts, 2);
}

static struct fuse_attr attributes(uint64_t node)
{
    return (struct fuse_attr){.ino = node,
                              .size = 1 << 20,
                              .mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644,
                              .nlink = 1,
                              .blksize = 4096};
}

static void answer_lookup(int server, const struct fuse_in_header *in)
{
    const char *name = (const char *)(in + 1);
    struct fuse_entry_out out = {
        .nodeid = strcmp(name, "stream") ? PLAIN : STREAM, .entry_valid = 1000, .attr_valid = 1000};

    out.attr = attributes(out.nodeid);
    answer(server, in->unique, 0, &out, sizeof(out));
}

static void answer_open(int server, const struct fuse_in_header *in)
{
    struct fuse_open_out out = {.open_flags = FOPEN_DIRECT_IO};

    if (in->nodeid == STREAM)
        out.open_flags |= FOPEN_STREAM | FOPEN_NONSEEKABLE;
    answer(server, in->unique, 0, &out, sizeof(out));
}

static void answer_one(int server, const struct fuse_in_header *in)
{
    const struct fuse_init_in *init = (const void *)(in + 1);
    const struct fuse_read_in *asked = (const void *)(in + 1);
    struct fuse_init_out ready = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 65536};
    struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attributes(in->nodeid)};
    struct fuse_write_out written = {.size = asked->size};

    switch (in->opcode) {
    case FUSE_INIT:
        ready.max_readahead = init->max_readahead;
        answer(server, in->unique, 0, &ready, sizeof(ready));
        break;
    case FUSE_LOOKUP:
        answer_lookup(server, in);
        break;
    case FUSE_GETATTR:
        answer(server, in->unique, 0, &attr, sizeof(attr));
        break;
    case FUSE_OPEN:
        answer_open(server, in);
        break;
    case FUSE_READ:
        answer(server, in->unique, 0, block, asked->size);
        break;
    case FUSE_WRITE: /* starts like a read */
        answer(server, in->unique, 0, &written, sizeof(written));
        break;
    case FUSE_RELEASE:
        answer(server, in->unique, 0, NULL, 0);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break; /* needs no answer */
    default:
        answer(server, in->unique, ENOSYS, NULL, 0);
    }
}

static void serve(int server)
{
    static char request[1 << 17] __attribute__((aligned(8)));

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (read(server, request, sizeof(request)) > 0)
        answer_one(server, (const struct fuse_in_header *)(const void *)request);
    _exit(0);
}

/* Mount it in a private namespace and serve it from outside of the job. Returns its place. */
static int mount_served(const char *directory)
{
    int server = (int)MUST(open("/dev/fuse", O_RDWR | O_CLOEXEC));
    char options[100];

    MUST(unshare(CLONE_NEWNS));
    MUST(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
    MUST(mkdir(directory, 0755));
    snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", server);
    MUST(mount("own", directory, "fuse", 0, options));
    if (MUST(fork()) == 0)
        serve(server);
    close(server);
    return place_of(directory);
}

static void do_order_stream(void)
{
    const struct iovec parts[2] = {{block, 100}, {block, 200}};
    int place = mount_served(IN("served")), fd;

#define OF_ORDER(order, op, call) did_in_order(place, op, WELL(place, op, call), order)
    begin();
    fd = do_open(place, IN("served/stream"), O_RDWR);
    for (int i = 0; i < 5; i++) {
        OF_ORDER(UNKNOWN, IO_READ, read(fd, block, 1000));
        OF_ORDER(UNKNOWN, IO_WRITE, write(fd, block, 500));
        OF_ORDER(UNKNOWN, IO_READ, readv(fd, parts, 2));
        OF_ORDER(UNKNOWN, IO_WRITE, writev(fd, parts, 2));
    }
    fd = do_open(place, IN("served/plain"), O_RDWR);
    for (int i = 0; i < 5; i++)
        OF_ORDER(SEQUENTIAL, IO_READ, read(fd, block, 1000));
    OF_ORDER(RANDOM, IO_READ, pread(fd, block, 1000, 2000));
    OF_ORDER(RANDOM, IO_WRITE, write(fd, block, 500));
#undef OF_ORDER
}

const struct workload workloads_stream[] = {
    {"order_stream", do_order_stream},
    {NULL, NULL},
};
