/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The I/O account: what one step (or job, or command) did on one mount, by operation.
 * Numbers are unsigned 64 bit, times in nanoseconds, sizes in bytes. Sums saturate at UINT64_MAX. A
 * function that fails leaves the numbers unchanged.
 */
#ifndef JOBIO_COMMON_ACCOUNT_H
#define JOBIO_COMMON_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/io_fields.h"
#include "common/io_histogram.h"
#include "common/io_op.h"
#include "common/mount_index.h"
#include "common/rpc.h"
#include "common/timeline.h"
#include "common/users.h"

/* Operations without a request are NULL. A zeroed struct is an empty account. */
struct io_account {
    struct io_counter *ops[IO_OP_COUNT]; /* owned */
};

/* Rates in the busiest interval, which may differ for bytes and for requests. */
struct io_peak {
    uint64_t bytes_per_s;
    uint64_t requests_per_s;
};

/* Baseline of a mount: the median latencies (io_latency_median) of the jobs that used it and ended
 * in the last 30 days. */
struct latency_baseline {
    uint64_t jobs;   /* 0: no baseline */
    uint64_t q50_ns; /* median of their medians */
    uint64_t q99_ns;
};
struct mount_baseline {
    struct latency_baseline read, write, open;
};

/* The account on one mount. The key is (mount, fstype, source, private), never dev, which is valid
 * only on one node until the next boot. */
struct io_mount {
    char *mount;   /* owned: mount point; "(unknown)" if it could not be found */
    char *fstype;  /* owned */
    char *source;  /* owned */
    bool private;  /* only mounted in the job's own mount namespace */
    bool labelled; /* may be a metric label: host namespace and not FUSE */
    uint64_t dev;  /* s_dev, (major << 20) | minor; 0 for calls that reached no file system. The
                    * upper half is the generation: file systems reuse numbers */
    struct io_account io;
    struct io_peak peaks[IO_OP_COUNT];
    struct io_cache cache;
    struct io_users users[IO_USER_KINDS];
    struct rpc_account *rpc;        /* owned; NULL: not NFS, or its requests were not counted */
    struct timeline timeline;       /* empty: not requested, or from an older release */
    struct mount_baseline baseline; /* of other jobs, from the store of this node */
};

/* Mounts that are not mounts: calls that reached no file system, and the sum of the mounts beyond a
 * limit. */
#define IO_NO_MOUNT "(no mount)"
#define IO_OTHER_MOUNTS "(other mounts)"

/* A growing list of mounts. A zeroed struct is an empty list. Code that changes the key of an item
 * calls io_mounts_forget_index(). */
struct io_mounts {
    struct io_mount *items; /* owned */
    size_t n;
    size_t room;              /* items are allocated for so many; less than n: for n */
    struct mount_index index; /* of a long list; else io_mounts_find() compares all items */
};

/* The name of an operation in JSON, the store and the metrics: "read", "copy_write", ... */
const char *io_op_name(enum io_op op);
/* Returns the operation, or -EINVAL. */
int io_op_parse(const char *name);
static inline bool io_op_is_data(enum io_op op)
{
    return op < IO_OP_FIRST_META;
}
static inline bool io_op_is_meta(enum io_op op)
{
    return IO_METADATA & 1ull << op;
}
/* The same for a bit number in a set of operations (bit 1 << io_op); those of IO_CACHE and
 * IO_THROTTLING are "cache" and "throttling". */
#define IO_SET_BITS (IO_OP_COUNT + 2)
/* Types of private mounts that the totals of a node list; further types are one, "(other)". */
#define IO_PRIVATE_TYPES 64
const char *io_bit_name(unsigned bit);
int io_bit_parse(const char *name);
/* The set of operations that cannot be counted on file systems of this type, with any kernel. The
 * page cache can be counted only where all buffered reads use the kernel's generic code. */
uint64_t io_unsupported_on(const char *fstype);
/* "read", "fault", "prefetch", "write". */
const char *io_fill_name(enum io_fill fill);

/* "ENOENT"; for a code without a name the number, which is written to buf. */
const char *io_errno_name(int code, char buf[16]);
/* Returns a positive errno, or -EINVAL. */
int io_errno_parse(const char *name);

/* Rounded rate per second; 0 if elapsed_ns is 0. */
uint64_t io_per_second(uint64_t amount, uint64_t elapsed_ns);

/* The counter of `op`; creates an empty one if there is none. NULL on out-of-memory. */
struct io_counter *io_account_op(struct io_account *account, enum io_op op);
/* Add `count` errors of `code` to `errnos`, not to `errors`. 0 or -ENOMEM. */
int io_counter_errno(struct io_counter *counter, int code, uint64_t count);
/* Nothing was counted; max_ns is ignored. */
bool io_counter_is_empty(const struct io_counter *counter);
/* Reads or writes whose order is known: sequential plus random. */
uint64_t io_counter_ordered(const struct io_counter *counter);
/* to += from; max_ns is the maximum. 0 or -ENOMEM. */
int io_account_add(struct io_account *to, const struct io_account *from);
/* ret = now - before, for two readings of one account; max_ns is that of `now`. -ERANGE if a
 * counter decreased, -ENOMEM. ret is written only on success. */
int io_account_diff(const struct io_account *now, const struct io_account *before,
                    struct io_account *ret);
int io_account_copy(const struct io_account *from, struct io_account *ret);
void io_account_clear(struct io_account *account); /* frees what it holds; NULL is fine */
bool io_account_is_empty(const struct io_account *account);
/* Returns the operations that have requests (bit 1 << io_op). */
uint64_t io_account_ops(const struct io_account *account);

/* to += from; max_ns is the maximum. */
void io_sum_add(struct io_sum *to, struct io_sum from);
/* Sums of read + copy_read, of write + copy_write, and of all metadata operations without create,
 * which is part of open. */
struct io_sum io_account_reads(const struct io_account *account);
struct io_sum io_account_writes(const struct io_account *account);
struct io_sum io_account_meta(const struct io_account *account);
/* Sum of all operations without create; bytes are reads plus writes. */
struct io_sum io_account_all(const struct io_account *account);
/* The four sums above; to += from. */
struct io_sums io_account_sums(const struct io_account *account);
void io_sums_add(struct io_sums *to, const struct io_sums *from);
/* The numbers of one operation; NULL: all 0. */
struct io_sum io_counter_sum(const struct io_counter *counter);
/* The totals of the account, as a bin of its time line. */
struct timeline_bin io_account_now(const struct io_account *account);

/* Errors that are ordinary answers, not failures: look-ups that found nothing, as below; a lock
 * that another process has; and lookup with EINVAL. That is readlink of what is not a symbolic
 * link, which realpath calls for each part of a path. access with an invalid mode, a rare mistake,
 * has the same error of the same operation. */
bool io_errno_is_answer(enum io_op op, int code);
/* Look-ups that found nothing: metadata calls that failed with ENOENT, and getxattr with ENODATA.
 * Programs make them along search paths. Without create, which is part of open. */
bool io_errno_is_not_found(enum io_op op, int code);
uint64_t io_counter_not_found(enum io_op op, const struct io_counter *counter);
uint64_t io_account_not_found(const struct io_account *account);
/* The other errors of the operation. */
uint64_t io_counter_failed(enum io_op op, const struct io_counter *counter);
/* io_account_sums() as people see them: errors without look-ups that found nothing, and metadata
 * without fsync, which writes data. Interfaces for programs (JSON, IO1, SQL, metrics) keep the sums
 * of all errors and of all operations that are not data. */
struct io_sums io_account_shown(const struct io_account *account);

/* Add the sizes of an operation's requests to `to`, without the empty reads at the end of files.
 * Bucket 0 of the histogram holds reads of no byte and of one byte alike. Of these are taken as
 * empty: all but so many as the bytes allow, if the other reads have the smallest sizes of their
 * buckets (exact), else two for each file that was opened on the mount (programs read until they
 * get nothing, once or twice). A program that reads byte by byte has far more than two. */
void io_account_sizes(const struct io_account *account, enum io_op op, uint64_t to[IO_BUCKETS]);

bool mount_baseline_is_known(const struct mount_baseline *baseline);
bool io_cache_is_empty(const struct io_cache *cache);
void io_cache_add(struct io_cache *to, const struct io_cache *from);

/* Find the mount with this key, or append an empty one (strings are copied). NULL on
 * out-of-memory. */
struct io_mount *io_mounts_get(struct io_mounts *mounts, const char *mount, const char *fstype,
                               const char *source, bool is_private);
/* Find the mount with this key; NULL if it is not in the list. */
struct io_mount *io_mounts_find(const struct io_mounts *mounts, const char *mount,
                                const char *fstype, const char *source, bool is_private);
void io_mounts_forget_index(struct io_mounts *mounts);
/* to += from, mount by mount: accounts, cache, users (of other processes), RPCs and time lines are
 * added, peaks are maxima, labelled only if both are. 0 or -ENOMEM. */
int io_mounts_add(struct io_mounts *to, const struct io_mounts *from);
int io_mounts_copy(const struct io_mounts *from, struct io_mounts *ret);
/* The requests of io_account_all(), of all mounts. */
uint64_t io_mounts_requests(const struct io_mounts *mounts);
void io_mounts_clear(struct io_mounts *mounts);

#endif
