/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The operations of the account. Shared with the BPF programs: this header includes nothing.
 * The numbers are part of the map layout and of the pinned state: append only, and only before
 * IO_OP_COUNT, together with a new JOBIO_LAYOUT.
 */
#ifndef JOBIO_COMMON_IO_OP_H
#define JOBIO_COMMON_IO_OP_H

enum io_op {
    /* Data: these have sizes. */
    IO_READ,
    IO_WRITE,
    IO_COPY_READ,
    IO_COPY_WRITE,
    IO_CLONE,
    IO_MMAP_READ,
    IO_MMAP_WRITE,
    /* Metadata. */
    IO_OPEN,
    IO_CREATE,
    IO_STAT,
    IO_READDIR,
    IO_MKDIR,
    IO_RMDIR,
    IO_UNLINK,
    IO_RENAME,
    IO_LINK,
    IO_SYMLINK,
    IO_MKNOD,
    IO_TRUNCATE,
    IO_FALLOCATE,
    IO_FSYNC,
    IO_SETATTR,
    IO_GETXATTR,
    IO_SETXATTR,
    IO_OP_COUNT,
};

#define IO_OP_FIRST_META IO_OPEN

/* In a set of operations (bit 1 << io_op): what the page cache did. */
#define IO_CACHE (1ull << IO_OP_COUNT)

/* For what the page cache was filled. */
enum io_fill { IO_FILL_READ, IO_FILL_FAULT, IO_FILL_PREFETCH, IO_FILL_WRITE, IO_FILL_COUNT };

/* Buckets of the histograms. size: [0] is <= 1 B, [i] is 2^(i-1) < v <= 2^i. latency: [0] is
 * <= 128 ns, [i] is 2^(i+6) < ns <= 2^(i+7). The last bucket is open. */
#define IO_BUCKETS 32

#endif
