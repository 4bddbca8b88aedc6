/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O account: what one step (or job, or command) did on one mount, by operation.
 * Pure data; all numbers are unsigned 64 bit, times in nanoseconds, sizes in bytes. A sum that does
 * not fit stays at UINT64_MAX. What fails leaves the numbers as they were.
 */
#ifndef JOBIO_COMMON_ACCOUNT_H
#define JOBIO_COMMON_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/io_fields.h"
#include "common/io_histogram.h"
#include "common/io_op.h"
#include "common/timeline.h"

/* Operations without a request are NULL. A zeroed struct is an empty account. */
struct io_account {
    struct io_counter *ops[IO_OP_COUNT]; /* owned */
};

/* The busiest interval. Of bytes and of requests each on its own. */
struct io_peak {
    uint64_t bytes_per_s;
    uint64_t requests_per_s;
};

/* What is normal on a mount: of the jobs that ended there in the last 30 days, each with its median
 * latency of such calls (io_latency_median), how many there were, and what half and 99 % of them
 * stayed at or below. */
struct latency_normal {
    uint64_t jobs; /* 0: nothing is known */
    uint64_t q50_ns, q99_ns;
};
struct mount_normal {
    struct latency_normal read, write, open;
};

/* The account on one mount. Mounts are told apart by their four names, never by dev, which is
 * only good on one node between two boots. */
struct io_mount {
    char *mount;   /* owned: where it is mounted, "(unknown)" if nobody could tell */
    char *fstype;  /* owned */
    char *source;  /* owned */
    bool private;  /* only the job's own mount namespace has it */
    bool labelled; /* may keep its name as a metric label: host namespace and not FUSE */
    uint64_t dev;  /* s_dev, (major << 20) | minor; 0 for calls that reached no file system; in the
                    * upper half which of those with this number, one after the other, it was */
    struct io_account io;
    struct io_peak peaks[IO_OP_COUNT];
    struct io_cache cache;
    struct timeline timeline;   /* empty: nobody asked for it, or an account of an older release */
    struct mount_normal normal; /* of other jobs, as the store of this node knows it */
};

/* A growing list of mounts. A zeroed struct is an empty list. */
struct io_mounts {
    struct io_mount *items; /* owned */
    size_t n;
};

/* "read", "copy_write", "getxattr"... as in JSON, the store and the metrics. */
const char *io_op_name(enum io_op op);
/* The operation of that name, or -EINVAL. */
int io_op_parse(const char *name);
static inline bool io_op_is_data(enum io_op op)
{
    return op < IO_OP_FIRST_META;
}
/* The same of a bit in a set of operations (bit 1 << io_op): IO_CACHE is "cache". */
#define IO_SET_BITS (IO_OP_COUNT + 1)
const char *io_bit_name(unsigned bit);
int io_bit_parse(const char *name);
/* What no kernel lets us count on file systems of this type, as a set. The page cache is only seen
 * where all buffered reads go through the kernel's own code for it. */
uint64_t io_unsupported_on(const char *fstype);
/* "read", "fault", "prefetch", "write". */
const char *io_fill_name(enum io_fill fill);

/* "ENOENT"; the number as text for a code without a name. buf holds 16 bytes and may be
 * returned. */
const char *io_errno_name(int code, char buf[16]);
/* The reverse: a positive errno or -EINVAL. */
int io_errno_parse(const char *name);

/* amount a second over this time, rounded; 0 when no time has passed, UINT64_MAX when it is
 * more. */
uint64_t io_per_second(uint64_t amount, uint64_t elapsed_ns);

/* The counter of `op`, made empty if there is none. NULL only when memory is out. */
struct io_counter *io_account_op(struct io_account *account, enum io_op op);
/* Add `count` errors of `code` to the split (not to `errors`). 0 or -ENOMEM. */
int io_counter_errno(struct io_counter *counter, int code, uint64_t count);
/* Nothing was counted (a longest call alone says nothing). */
bool io_counter_is_empty(const struct io_counter *counter);
/* Reads or writes of which it is known whether they were in order. */
uint64_t io_counter_ordered(const struct io_counter *counter);
/* to += from: sums, the longest call by maximum. 0 or -ENOMEM. */
int io_account_add(struct io_account *to, const struct io_account *from);
/* ret = now - before, for two readings of one growing account; counters that went backwards give
 * -ERANGE and leave ret untouched. max_ns is that of `now`. */
int io_account_diff(const struct io_account *now, const struct io_account *before,
                    struct io_account *ret);
int io_account_copy(const struct io_account *from, struct io_account *ret);
void io_account_clear(struct io_account *account); /* frees what it holds; NULL is fine */
bool io_account_is_empty(const struct io_account *account);

/* to += from; max_ns is the maximum. */
void io_sum_add(struct io_sum *to, struct io_sum from);
/* read + copy_read, write + copy_write, and all metadata operations (create is part of open and
 * not added again). Errors and time likewise. */
struct io_sum io_account_reads(const struct io_account *account);
struct io_sum io_account_writes(const struct io_account *account);
struct io_sum io_account_meta(const struct io_account *account);
/* All of them; for bytes: reads plus writes. */
struct io_sum io_account_all(const struct io_account *account);
/* The four of them; to += from. */
struct io_sums io_account_sums(const struct io_account *account);
void io_sums_add(struct io_sums *to, const struct io_sums *from);
/* The numbers of one operation; NULL: all 0. */
struct io_sum io_counter_sum(const struct io_counter *counter);
/* What the time line of an account adds up to: bytes of reads and of writes, requests of meta, time
 * of all. */
struct timeline_bin io_account_now(const struct io_account *account);

bool mount_normal_is_known(const struct mount_normal *normal);
bool io_cache_is_empty(const struct io_cache *cache);
void io_cache_add(struct io_cache *to, const struct io_cache *from);

/* Find the mount of these names, or append an empty one (strings are copied). NULL: no memory. */
struct io_mount *io_mounts_get(struct io_mounts *mounts, const char *mount, const char *fstype,
                               const char *source, bool is_private);
/* The mount of these names; NULL: it is not among them. */
struct io_mount *io_mounts_find(const struct io_mounts *mounts, const char *mount,
                                const char *fstype, const char *source, bool is_private);
/* to += from, mount by mount (io_account_add; cache and time line summed; peaks by maximum;
 * labelled only if both are). 0 or -ENOMEM. */
int io_mounts_add(struct io_mounts *to, const struct io_mounts *from);
int io_mounts_copy(const struct io_mounts *from, struct io_mounts *ret);
void io_mounts_clear(struct io_mounts *mounts);

#endif
