/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations of the account. Shared with the BPF programs: this header includes nothing.
 * The numbers are part of the map layout and of the pinned state: only append, and give the maps
 * a new JOBIO_LAYOUT.
 */
#ifndef JOBIO_COMMON_IO_OP_H
#define JOBIO_COMMON_IO_OP_H

/* X(number, name): the name is the one in JSON, the store, the metrics and the rules of advice. */
/* clang-format off */
#define IO_OPS(X)                   \
    /* Data: these have sizes. */   \
    X(IO_READ, "read")              \
    X(IO_WRITE, "write")            \
    X(IO_COPY_READ, "copy_read")    \
    X(IO_COPY_WRITE, "copy_write")  \
    X(IO_CLONE, "clone")            \
    X(IO_MMAP_READ, "mmap_read")    \
    X(IO_MMAP_WRITE, "mmap_write")  \
    /* Metadata. */                 \
    X(IO_OPEN, "open")              \
    X(IO_CREATE, "create")          \
    X(IO_STAT, "stat")              \
    X(IO_READDIR, "readdir")        \
    X(IO_MKDIR, "mkdir")            \
    X(IO_RMDIR, "rmdir")            \
    X(IO_UNLINK, "unlink")          \
    X(IO_RENAME, "rename")          \
    X(IO_LINK, "link")              \
    X(IO_SYMLINK, "symlink")        \
    X(IO_MKNOD, "mknod")            \
    X(IO_TRUNCATE, "truncate")      \
    X(IO_FALLOCATE, "fallocate")    \
    X(IO_FSYNC, "fsync")            \
    X(IO_SETATTR, "setattr")        \
    X(IO_GETXATTR, "getxattr")      \
    X(IO_SETXATTR, "setxattr")      \
    /* Neither. */                  \
    X(IO_CLOSE, "close")            \
    X(IO_LOCK, "lock")              \
    /* Metadata. */                 \
    X(IO_LOOKUP, "lookup")
/* clang-format on */

#define IO_OP_NUMBER(number, name) number,
enum io_op { IO_OPS(IO_OP_NUMBER) IO_OP_COUNT };
#undef IO_OP_NUMBER

#define IO_OP_FIRST_META IO_OPEN

/* In a set of operations (bit 1 << io_op): the metadata operations, the counters of the page cache,
 * and the waiting for writeback. */
#define IO_METADATA \
    (((1ull << IO_OP_COUNT) - (1ull << IO_OP_FIRST_META)) & ~(1ull << IO_CLOSE | 1ull << IO_LOCK))
#define IO_CACHE (1ull << IO_OP_COUNT)
#define IO_THROTTLING (1ull << (IO_OP_COUNT + 1))

/* A process that makes one of these is a reader, or a writer, of the mount. A clone moves no data.
 */
#define IO_READS (1ull << IO_READ | 1ull << IO_COPY_READ | 1ull << IO_MMAP_READ)
#define IO_WRITES (1ull << IO_WRITE | 1ull << IO_COPY_WRITE | 1ull << IO_MMAP_WRITE)
enum io_user_kind { IO_READERS, IO_WRITERS, IO_USER_KINDS };

/* Why bytes were brought into the page cache. */
enum io_fill { IO_FILL_READ, IO_FILL_FAULT, IO_FILL_PREFETCH, IO_FILL_WRITE, IO_FILL_COUNT };

/* In place of the s_dev of mounts without counters of their own. The kernel's major numbers are
 * below 512, and 0 is the major number of file systems without a device. */
#define IO_DEV_OTHER 0xffffffffu

/* In place of the errnos that have no counter of their own: the largest one, which has no name. */
#define IO_ERRNO_OTHER 4095
#define IO_ERRNO_LAST 134 /* EFTYPE, the last with a name */

/* Buckets of the histograms. size: [0] is <= 1 B, [i] is 2^(i-1) < v <= 2^i. latency: [0] is
 * <= 128 ns, [i] is 2^(i+6) < ns <= 2^(i+7). The last bucket is open. */
#define IO_BUCKETS 32

#endif
