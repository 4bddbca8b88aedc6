/* SPDX-License-Identifier: GPL-2.0-or-later */
/* FUSE file systems for tests. */
#ifndef JOBIO_TESTS_BPF_FUSE_H
#define JOBIO_TESTS_BPF_FUSE_H

#define FUSE_FILE_BYTES 8192

/*
 * Mount a FUSE file system on the directory. A process of its own serves it until it is unmounted,
 * at most 5 minutes. The files "file" and "flushed" have FUSE_FILE_BYTES bytes. Looking up a number
 * N fails with errno N (1 to 511); all other requests fail. read_ms: if not 0, each read of a file
 * takes this long and bypasses the page cache, and each flush of "flushed" takes this long. Exits
 * on errors.
 */
void fuse_mount(const char *directory, unsigned read_ms);

#endif
