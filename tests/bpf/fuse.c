/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include "tests/bpf/fuse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_NODE 2
#define FLUSHED_NODE 3
#define FOREVER 3600 /* s */
#define LIFETIME 300 /* of a server, s, if a test fails before it unmounts */

static unsigned delay_ms; /* of a read, and of a flush of "flushed" */

static const struct fuse_attr file_attr = {.ino = FILE_NODE,
                                           .size = FUSE_FILE_BYTES,
                                           .blocks = FUSE_FILE_BYTES / 512,
                                           .mode = S_IFREG | 0644,
                                           .nlink = 1,
                                           .blksize = 4096};

struct request {
    struct fuse_in_header header;
    char body[FUSE_MIN_READ_BUFFER];
};

static void answer(int fd, const struct request *request, int error, const void *body, size_t size)
{
    struct fuse_out_header header = {.len = (uint32_t)(sizeof(header) + size),
                                     .error = -error,
                                     .unique = request->header.unique};
    const struct iovec parts[] = {{&header, sizeof(header)}, {(void *)body, size}};

    (void)!writev(fd, parts, size ? 2 : 1);
}

static void answer_init(int fd, const struct request *request)
{
    const struct fuse_init_out out = {.major = FUSE_KERNEL_VERSION,
                                      .minor = FUSE_KERNEL_MINOR_VERSION,
                                      .max_readahead = 1 << 17,
                                      .flags = FUSE_ASYNC_READ,
                                      .max_background = 12,
                                      .congestion_threshold = 9,
                                      .max_write = 4096,
                                      .time_gran = 1};

    answer(fd, request, 0, &out, sizeof(out));
}

static void answer_lookup(int fd, const struct request *request)
{
    bool flushed = !strcmp(request->body, "flushed");
    struct fuse_entry_out entry = {.nodeid = flushed ? FLUSHED_NODE : FILE_NODE,
                                   .entry_valid = FOREVER,
                                   .attr_valid = FOREVER,
                                   .attr = file_attr};
    int number = atoi(request->body);

    entry.attr.ino = entry.nodeid;
    if (flushed || !strcmp(request->body, "file"))
        answer(fd, request, 0, &entry, sizeof(entry));
    else
        answer(fd, request, number ? number : ENOENT, NULL, 0);
}

static void answer_read(int fd, const struct request *request)
{
    static const char zeros[FUSE_FILE_BYTES];
    const struct fuse_read_in *in = (const struct fuse_read_in *)request->body;
    size_t left = in->offset < FUSE_FILE_BYTES ? FUSE_FILE_BYTES - (size_t)in->offset : 0;

    (void)usleep(delay_ms * 1000);
    answer(fd, request, 0, zeros, in->size < left ? in->size : left);
}

static void answer_flush(int fd, const struct request *request)
{
    if (request->header.nodeid == FLUSHED_NODE)
        (void)usleep(delay_ms * 1000);
    answer(fd, request, 0, NULL, 0);
}

static void answer_any(int fd, const struct request *request)
{
    struct fuse_attr_out attr = {.attr_valid = FOREVER, .attr = file_attr};
    const struct fuse_open_out opened = {.open_flags = delay_ms ? FOPEN_DIRECT_IO : 0};

    switch (request->header.opcode) {
    case FUSE_INIT:
        return answer_init(fd, request);
    case FUSE_LOOKUP:
        return answer_lookup(fd, request);
    case FUSE_GETATTR:
        attr.attr.ino = request->header.nodeid;
        return answer(fd, request, 0, &attr, sizeof(attr));
    case FUSE_OPEN:
        return answer(fd, request, 0, &opened, sizeof(opened));
    case FUSE_READ:
        return answer_read(fd, request);
    case FUSE_FLUSH:
        return answer_flush(fd, request);
    case FUSE_RELEASE:
        return answer(fd, request, 0, NULL, 0);
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        return;
    }
    answer(fd, request, ENOSYS, NULL, 0);
}

static void serve(int fd)
{
    static struct request request;

    for (;;) {
        ssize_t n = read(fd, &request, sizeof(request) - 1);

        if (n < 0 && errno == ENODEV)
            _exit(0);
        if (n < (ssize_t)sizeof(request.header))
            continue;
        ((char *)&request)[n] = '\0';
        answer_any(fd, &request);
    }
}

void fuse_mount(const char *directory, unsigned read_ms)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    char options[96];
    pid_t pid;

    (void)snprintf(options, sizeof(options),
                   "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fd);
    pid = fd < 0 || mount("fuse", directory, "fuse", 0, options) < 0 ? -1 : fork();
    if (pid < 0) {
        perror(directory);
        exit(1);
    }
    if (pid) {
        close(fd);
        return;
    }
    /* Tests wait until the output of their programs is closed. */
    (void)syscall(__NR_close_range, 0, (unsigned)fd - 1, 0);
    (void)alarm(LIFETIME);
    delay_ms = read_ms;
    serve(fd);
}
