/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counters of block requests. Shared with the BPF programs: this header includes nothing. */
#ifndef JOBIO_COMMON_BLOCK_CLASS_H
#define JOBIO_COMMON_BLOCK_CLASS_H

/* X(number, name): the name is the one in JSON and in texts. */
#define BLOCK_CLASSES(X)        \
    X(BLOCK_READ, "read")       \
    X(BLOCK_WRITE, "write")     \
    X(BLOCK_DISCARD, "discard") \
    X(BLOCK_FLUSH, "flush")

#define BLOCK_CLASS_NUMBER(number, name) number,
enum block_class { BLOCK_CLASSES(BLOCK_CLASS_NUMBER) BLOCK_CLASS_COUNT };
#undef BLOCK_CLASS_NUMBER

/* The sums of a class, X(member):
 * requests: those that have ended.
 * errors: those that failed.
 * bytes: what was read, written or discarded, as in /sys/block/DEVICE/stat.
 * queued_ns: from the creation of the request until the driver got it (the last time).
 * device_ns: from then until it ended. A flush is at the device for all of its time. */
#define BLOCK_SUMS(X) \
    X(requests)       \
    X(errors)         \
    X(bytes)          \
    X(queued_ns)      \
    X(device_ns)

#endif
