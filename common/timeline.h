/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When a step (or a job) did what on a mount: read and written bytes, metadata requests and the
 * time that threads waited, in at most 200 bins of equal width. The sums over the bins are the sums
 * of the account to the last byte (io_account_reads, _writes, _meta, _all).
 *
 * Width: a power of two seconds. A time line that does not fit doubles its width, and pairs of bins
 * are added. A bin begins at a multiple of its width since 1970, on every node, so that time lines
 * of different steps and nodes add up without any rounding; the coarser width wins, and the order
 * of the additions does not matter.
 *
 * Resolution: the counters are read every few seconds (the collector's interval). What was added
 * between two readings is spread evenly over the time between them, so a burst that is shorter than
 * the interval looks as long as the interval. A bin says how much, and when to within that
 * interval.
 *
 * Clock: the real time of the node at the step's tag, and from there the time that has passed. A
 * clock that is set while a step runs neither bends nor breaks its time line.
 *
 * Memory: a bin has 32 bytes, and only those from the first to the last with anything in them
 * exist. At most 200 steps x 20 mounts x 200 bins x 32 bytes = 25.6 MB a node, when every step
 * does I/O on every mount all the time; an ordinary step (3 mounts) has at most 19 kB.
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
    TIMELINE_KINDS
};

struct timeline_bin {
    uint64_t of[TIMELINE_KINDS];
};

/* A zeroed struct is an empty time line. One that is not empty has something in its first and in
 * its last bin. Draw it from here: bin i covers [start_s + i * width_s, + width_s). */
struct timeline {
    uint64_t start_s;          /* where bins[0] begins, seconds since 1970; k * width_s */
    uint64_t width_s;          /* a power of two; 0 only while it is empty */
    unsigned n;                /* <= TIMELINE_BINS; 0: empty */
    unsigned room;             /* bins that are allocated */
    struct timeline_bin *bins; /* owned */
};

/* "read_bytes", "write_bytes", "meta_requests", "wait_ns": as in JSON and in the store. */
const char *timeline_kind_name(enum timeline_kind kind);
bool timeline_is_empty(const struct timeline *t);
bool timeline_bin_is_empty(const struct timeline_bin *bin);
/* Where it ends: start_s + n * width_s. */
uint64_t timeline_end_s(const struct timeline *t);
/* The sum over the bins; as everywhere, what does not fit stays at UINT64_MAX. */
struct timeline_bin timeline_sum(const struct timeline *t);
/* The sum over the bins that begin in [from_s, to_s). With both at multiples of a width that is at
 * least its own: the time line at that width, for drawing several on one axis. */
struct timeline_bin timeline_between(const struct timeline *t, uint64_t from_s, uint64_t to_s);
/* The largest width that is not above this span (at least 1 s): the finest that makes sense for
 * readings so far apart. */
uint64_t timeline_width(uint64_t interval_ns);

/* Spread `what` evenly over [from_ns, to_ns) of real time, in bins of at least min_width_s; nothing
 * is lost to rounding. If the span is empty or goes backwards, all is at to_ns. 0 or -ENOMEM (and
 * nothing changed). */
int timeline_spread(struct timeline *t, uint64_t min_width_s, uint64_t from_ns, uint64_t to_ns,
                    const struct timeline_bin *what);
/* Bins of this width (a power of two) if they were narrower. */
void timeline_widen(struct timeline *t, uint64_t width_s);
/* At most so many bins (at least 1). */
void timeline_limit(struct timeline *t, unsigned max);
/* to += from. 0 or -ENOMEM (and nothing changed). Cannot fail after timeline_reserve of the
 * same. */
int timeline_add(struct timeline *to, const struct timeline *from);
int timeline_reserve(struct timeline *to, const struct timeline *from);
int timeline_copy(const struct timeline *from, struct timeline *ret);
/* ret = now - before, for two states of one growing time line. -ERANGE if a bin has shrunk,
 * -ENOMEM. *ret is only written on success. */
int timeline_diff(const struct timeline *now, const struct timeline *before, struct timeline *ret);
/* Move `what` (or all there is, if less) out of a time line, from each bin in proportion, into `to`
 * (may be NULL: it is dropped). 0 or -ENOMEM (and nothing changed). */
int timeline_move(struct timeline *from, const struct timeline_bin *what, struct timeline *to);
/* Set all fields from a text or a message that is not trusted: `n` bins, copied. -EINVAL if they
 * break a rule above (but empty bins at the ends are fine), -ENOMEM. *ret is only written on
 * success. */
int timeline_set(struct timeline *ret, uint64_t start_s, uint64_t width_s,
                 const struct timeline_bin *bins, size_t n);
void timeline_clear(struct timeline *t); /* frees what it holds; NULL is fine */

#endif
