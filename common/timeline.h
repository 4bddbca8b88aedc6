/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time line of a step (or a job) on a mount: bytes read and written, metadata requests and the
 * time that threads waited, in at most 200 bins of equal width. The sums over the bins are exactly
 * those of the account (io_account_reads, _writes, _meta, _all). Beside these, a bin has the
 * longest wait of one thread. It is found in slices of 4.3 s, and a bin has the sum over its
 * slices, each of which may be of another thread: at most its width.
 *
 * Width: a power of two seconds. A time line that does not fit doubles its width and adds pairs of
 * bins. A bin starts at a multiple of its width since 1970 on every node, so that time lines of
 * different steps and nodes are added without rounding. The sum has the coarser width, and the
 * order of the additions does not matter, except for the longest wait: it is the maximum at the
 * width of each addition.
 *
 * Resolution: the counters are read every few seconds (the collector's interval). The
 * difference between two readings is spread evenly over the time between them, so a burst shorter
 * than the interval looks as long as the interval. Waits in calls that took longer than the
 * interval are spread over the time that the calls lasted (collector/sample/timelines.c).
 *
 * Clock: the real time of the node at the tag of the step, plus the elapsed time. Setting the clock
 * while a step runs does not change its time line.
 *
 * Memory: a bin has 40 bytes, and only the bins from the first to the last non-empty one are
 * allocated. At most 200 steps x 20 mounts x 200 bins x 40 bytes = 32 MB per node, if every step
 * does I/O on every mount all the time; an ordinary step (3 mounts) has at most 24 kB.
 */
#ifndef JOBIO_COMMON_TIMELINE_H
#define JOBIO_COMMON_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TIMELINE_BINS 200
#define TIMELINE_MAX_S (UINT64_C(1) << 32) /* no bin is wider, none starts at or above 2^35 s */

enum timeline_kind {
    TIMELINE_READ,  /* bytes, copy_read included */
    TIMELINE_WRITE, /* bytes, copy_write included */
    TIMELINE_META,  /* metadata requests; create is part of open */
    TIMELINE_WAIT,  /* ns inside synchronous calls, of all threads */
    TIMELINE_KINDS, /* the above are sums; in lists of numbers the next is longest_ns */
    TIMELINE_LONGEST = TIMELINE_KINDS,
    TIMELINE_NUMBERS
};

/* A longest wait that is not known. */
#define TIMELINE_UNKNOWN UINT64_MAX

struct timeline_bin {
    uint64_t of[TIMELINE_KINDS];
    uint64_t longest_ns; /* longest wait of one thread, by slices; or TIMELINE_UNKNOWN */
};

/* A zeroed struct is an empty time line. Otherwise the first and the last bin are not empty. Bin i
 * covers [start_s + i * width_s, start_s + (i + 1) * width_s). */
struct timeline {
    uint64_t start_s;          /* start of bins[0], seconds since 1970; a multiple of width_s */
    uint64_t width_s;          /* a power of two; 0 only while it is empty */
    unsigned n;                /* <= TIMELINE_BINS; 0: empty */
    unsigned room;             /* bins that are allocated */
    struct timeline_bin *bins; /* owned */
};

/* "read_bytes", "write_bytes", "meta_requests", "wait_ns", "longest_wait_ns": as in JSON and in the
 * store. */
const char *timeline_kind_name(enum timeline_kind kind);
/* A number of a bin by its kind, for those who list all of them. */
uint64_t *timeline_number(struct timeline_bin *bin, enum timeline_kind kind);
/* Number of bins up to the last one that is not 0. The longest wait has at least one; it has none
 * if it is unknown in any bin. */
unsigned timeline_length(const struct timeline *t, enum timeline_kind kind);
bool timeline_is_empty(const struct timeline *t);
bool timeline_bin_is_empty(const struct timeline_bin *bin);
/* Its end: start_s + n * width_s. */
uint64_t timeline_end_s(const struct timeline *t);
/* The sum over the bins, saturating at UINT64_MAX; longest_ns is unknown if it is in one of them.
 */
struct timeline_bin timeline_sum(const struct timeline *t);
/* The sum over the bins that start in [from_s, to_s). With both at multiples of a larger or equal
 * width, this is a bin of the time line at that width, for drawing several on one axis. */
struct timeline_bin timeline_between(const struct timeline *t, uint64_t from_s, uint64_t to_s);
/* The largest width up to this interval (at least 1 s): the finest useful one for readings at this
 * interval. */
uint64_t timeline_width(uint64_t interval_ns);

/* Spread `what` evenly over [from_ns, to_ns) of real time, in bins of at least min_width_s, without
 * rounding loss. If to_ns <= from_ns, all of it goes to to_ns. 0 or -ENOMEM (nothing is changed).
 */
int timeline_spread(struct timeline *t, uint64_t min_width_s, uint64_t from_ns, uint64_t to_ns,
                    const struct timeline_bin *what);
/* Make the longest wait unknown in all bins in which a thread waited. */
void timeline_forget_longest(struct timeline *t);
/* Widen the bins to this width (a power of two), unless they are wider. */
void timeline_widen(struct timeline *t, uint64_t width_s);
/* Widen the bins until there are at most `max` (>= 1). */
void timeline_limit(struct timeline *t, unsigned max);
/* to += from, for different steps or nodes: the longest wait of a bin is the maximum, and unknown
 * if it is in one of them. 0 or -ENOMEM (nothing is changed). Cannot fail after timeline_reserve()
 * with the same arguments. */
int timeline_add(struct timeline *to, const struct timeline *from);
int timeline_reserve(struct timeline *to, const struct timeline *from);
int timeline_copy(const struct timeline *from, struct timeline *ret);
/* Move `what` (or everything, if there is less) from a time line to `to`, from each bin in
 * proportion; NULL: drop it. Whose wait was the longest is not known, neither of what is moved nor
 * of the rest. 0 or -ENOMEM (nothing is changed). */
int timeline_move(struct timeline *from, const struct timeline_bin *what, struct timeline *to);
/* Set all members from untrusted input; the `n` bins are copied. -EINVAL if they break a rule above
 * (empty bins at the ends are allowed), -ENOMEM. *ret is written only on success. */
int timeline_set(struct timeline *ret, uint64_t start_s, uint64_t width_s,
                 const struct timeline_bin *bins, size_t n);
void timeline_clear(struct timeline *t); /* frees what it holds; NULL is fine */

#endif
