/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The account of requests to block devices, by device. Sums saturate at UINT64_MAX. */
#ifndef JOBIO_COMMON_BLOCK_H
#define JOBIO_COMMON_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/block_class.h"
#include "common/io_op.h"

#define BLOCK_SUM_MEMBER(member) uint64_t member;
struct block_counter {
    BLOCK_SUMS(BLOCK_SUM_MEMBER)
    uint64_t latency_log2[IO_BUCKETS]; /* of device_ns, as io_counter.latency_log2 */
};
#undef BLOCK_SUM_MEMBER

#define BLOCK_NAME_SIZE 32

/* A whole disk. Those of different nodes that have the same name are one. */
struct block_device {
    char name[BLOCK_NAME_SIZE]; /* "sda" */
    struct block_counter own[BLOCK_CLASS_COUNT];
    /* Submitted by kernel threads, for any process, while the step was running: mostly writeback.
     */
    struct block_counter shared[BLOCK_CLASS_COUNT];
};

struct block_account {
    struct block_device *items; /* in the order of their names */
    size_t n;
    bool incomplete;     /* some requests are missing */
    bool shared_at_most; /* steps that ran at the same time may have counted the same ones */
};

/* "read", ... */
const char *block_class_name(enum block_class class);
int block_class_parse(const char *name); /* the class or -EINVAL */

/* How many of the requests have their times counted: those in the histogram. */
uint64_t block_counter_timed(const struct block_counter *counter);
void block_counter_add(struct block_counter *to, const struct block_counter *from);
/* *to - before; `before` is an earlier reading of the same counter. */
void block_counter_subtract(struct block_counter *to, const struct block_counter *before);

/* The device with this name, which is added if it is new; a longer name is cut. NULL on
 * out-of-memory. Valid until the next call. */
struct block_device *block_account_get(struct block_account *account, const char *name);
/* The same without adding it. */
const struct block_device *block_account_find(const struct block_account *account,
                                              const char *name);

/* The sum for different steps or nodes: *to += from. *to is created if it is NULL; `from` may be
 * NULL. NULL: not counted, which makes the sum incomplete if that side has requests (of its
 * mounts). 0 or -ENOMEM. */
int block_account_add(struct block_account **to, bool to_has_requests,
                      const struct block_account *from, bool from_has_requests);
/* Add the earlier part of the same step: requests of kernel threads in both are different ones.
 * `before` may be NULL. 0 or -ENOMEM. */
int block_account_continue(struct block_account **to, const struct block_account *before);
void block_account_clear(struct block_account *account);
void block_account_destroy(struct block_account *account); /* frees the struct; NULL is fine */

#endif
