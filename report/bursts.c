/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/bursts.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/numbers.h"

#define LEAST_BURSTS 3
#define LEAST_BYTES (UINT64_C(1) << 20) /* of a burst: smaller ones are log lines */
#define LEAST_GAP 2                     /* bins */
#define QUIET 20                        /* a bin with less than 1/20 of the largest is quiet */
#define SMALL 10                        /* a run below 1/10 of the largest is not a burst */
#define FULL 8                          /* a bin is nearly full without 1/8 of it */

/* Adjacent bins that are not quiet. */
struct run {
    unsigned first, last;
    uint64_t bytes;
    double middle; /* of its bytes, in bins */
};

static uint64_t largest_bin(const struct timeline *t)
{
    uint64_t largest = 0;

    for (unsigned i = 0; i < t->n; i++)
        if (t->bins[i].of[TIMELINE_WRITE] > largest)
            largest = t->bins[i].of[TIMELINE_WRITE];
    return largest;
}

static unsigned find_runs(const struct timeline *t, struct run runs[TIMELINE_BINS])
{
    uint64_t quiet = largest_bin(t) / QUIET;
    bool is_in = false;
    unsigned n = 0;

    for (unsigned i = 0; i < t->n; i++) {
        uint64_t bytes = t->bins[i].of[TIMELINE_WRITE];

        if (bytes > quiet && !is_in)
            runs[n++] = (struct run){.first = i};
        is_in = bytes > quiet;
        if (!is_in)
            continue;
        runs[n - 1].last = i;
        add_saturating(&runs[n - 1].bytes, bytes);
        runs[n - 1].middle += (double)bytes * i;
    }
    for (unsigned i = 0; i < n; i++)
        runs[i].middle /= (double)runs[i].bytes;
    return n;
}

/* Without the small ones. Returns how many are left; 0 if the small ones matter. */
static unsigned keep_large(struct run *runs, unsigned n)
{
    uint64_t largest = 0, small = 0, large = 0;
    unsigned kept = 0;

    for (unsigned i = 0; i < n; i++)
        largest = runs[i].bytes > largest ? runs[i].bytes : largest;
    for (unsigned i = 0; i < n; i++) {
        bool is_large = runs[i].bytes >= LEAST_BYTES && runs[i].bytes >= largest / SMALL;

        add_saturating(is_large ? &large : &small, runs[i].bytes);
        if (is_large)
            runs[kept++] = runs[i];
    }
    return small <= large / SMALL ? kept : 0;
}

/* If the quiet time between two bursts is shorter than the resolution, most of them look like one
 * long one, with a short gap where their rhythm and that of the bins meet. */
static bool are_apart(const struct run *runs, unsigned n)
{
    unsigned busy = 0;

    for (unsigned i = 0; i < n; i++)
        busy += runs[i].last - runs[i].first + 1;
    for (unsigned i = 1; i < n; i++)
        if (runs[i].first - runs[i - 1].last - 1 < LEAST_GAP)
            return false;
    return busy * 2 <= runs[n - 1].last - runs[0].first + 1 + busy / n;
}

static int by_size(const void *pa, const void *pb)
{
    const double *a = pa, *b = pb;

    return (*a > *b) - (*a < *b);
}

/* The distances are those of one rhythm, with a bin of tolerance for the resolution, and a burst
 * writes about as much as the one before it; one in ten may differ. */
static bool are_regular(const struct run *runs, unsigned n)
{
    double distances[TIMELINE_BINS], sorted[TIMELINE_BINS], median;
    unsigned odd = 0;

    for (unsigned i = 1; i < n; i++)
        sorted[i - 1] = distances[i - 1] = runs[i].middle - runs[i - 1].middle;
    qsort(sorted, n - 1, sizeof(*sorted), by_size);
    median = sorted[(n - 1) / 2];
    for (unsigned i = 1; i < n; i++) {
        double off = distances[i - 1] - median;
        double ratio = (double)runs[i].bytes / (double)runs[i - 1].bytes;

        odd += (off < 0 ? -off : off) > median / 4 + 1 || ratio > 1.5 || ratio < 1 / 1.5;
    }
    return odd * 10 <= n;
}

/* A thread waited for nearly all of the bin, and no call ended that is not one of a write. */
static bool is_in_call(const struct timeline *t, unsigned bin)
{
    const struct timeline_bin *b = &t->bins[bin];
    uint64_t width = t->width_s * NS_PER_S;

    return b->longest_ns != TIMELINE_UNKNOWN && b->longest_ns >= width - width / FULL &&
           !b->of[TIMELINE_READ] && !b->of[TIMELINE_META];
}

/* Returns how many bins the run becomes longer on one side, by +1 or -1 from its last or first bin;
 * at most `most`. */
static unsigned extension(const struct timeline *t, unsigned bin, int by, unsigned most)
{
    unsigned n = 0;

    for (unsigned beyond = 1; beyond && n < most; n++) {
        bin += (unsigned)by;
        beyond = is_in_call(t, bin) ? 2 : beyond - 1;
    }
    return n;
}

/* What a burst did is also in the bins beside it, if there was little of it. A thread may have
 * waited there for longer than a bin: in a write, whose bytes are counted at its end, or in the
 * fsync after it. Then two bins may have the rest. The runs do not overlap. */
static void extend_runs(const struct timeline *t, struct run *runs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        unsigned before = i ? runs[i].first - runs[i - 1].last - 1 : runs[i].first;
        unsigned after = (i + 1 < n ? runs[i + 1].first : t->n) - runs[i].last - 1;

        runs[i].first -= extension(t, runs[i].first, -1, before);
        runs[i].last += extension(t, runs[i].last, 1, after);
    }
}

/* Returns how much of the longest wait in the bins of a run could be for something else: as much
 * in each as in the bins beside the run, or in its own first and last one if the next run is there.
 * What goes on at one side only, such as the open of the file, can be in one bin. */
static uint64_t other_wait(const struct timeline *t, const struct run *runs, unsigned n, unsigned i)
{
    bool joins_last = i && runs[i - 1].last + 1 == runs[i].first;
    bool joins_next = i + 1 < n && runs[i].last + 1 == runs[i + 1].first;
    unsigned before = runs[i].first - !joins_last, after = runs[i].last + !joins_next;
    uint64_t a = before < t->n ? t->bins[before].longest_ns : 0;
    uint64_t b = after < t->n ? t->bins[after].longest_ns : 0, sum = a > b ? a : b;

    for (unsigned bin = runs[i].first; bin < runs[i].last; bin++)
        add_saturating(&sum, a < b ? a : b);
    return sum;
}

/* The time line of a mount, and the mounts beside it; NULL: none. */
struct place {
    const struct timeline *t;
    const struct io_mounts *mounts;
};

/* Returns how long threads waited on other mounts. */
static uint64_t wait_elsewhere(const struct place *place, uint64_t from_s, uint64_t to_s)
{
    uint64_t sum = 0;

    for (size_t i = 0; place->mounts && i < place->mounts->n; i++) {
        const struct timeline *t = &place->mounts->items[i].timeline;
        uint64_t earlier_s = from_s > t->width_s ? from_s - t->width_s + 1 : 0;

        if (t != place->t && t->n)
            add_saturating(&sum, timeline_between(t, earlier_s, to_s).of[TIMELINE_WAIT]);
    }
    return sum;
}

/* What the bursts did, from runs that are extended. If threads wait beside the bursts, or on other
 * mounts, and that could be more than 10 % of the stall and a second of it, the stall is unknown.
 */
static void add_runs(const struct place *place, const struct run *runs, unsigned n,
                     struct bursts *ret)
{
    const struct timeline *t = place->t;
    uint64_t other = 0;

    for (unsigned i = 0; i < n; i++) {
        uint64_t from_s = t->start_s + runs[i].first * t->width_s;
        uint64_t to_s = t->start_s + (runs[i].last + 1) * t->width_s;
        struct timeline_bin sum = timeline_between(t, from_s, to_s);

        add_saturating(&ret->bytes, sum.of[TIMELINE_WRITE]);
        add_saturating(&ret->wait_ns, sum.of[TIMELINE_WAIT]);
        add_saturating(&ret->stall_ns, sum.longest_ns);
        add_saturating(&other, other_wait(t, runs, n, i));
        add_saturating(&other, wait_elsewhere(place, from_s, to_s));
    }
    if (ret->stall_ns != TIMELINE_UNKNOWN && ret->stall_ns > ret->wait_ns)
        ret->stall_ns = ret->wait_ns;
    if (other > NS_PER_S && other > ret->stall_ns / 10)
        ret->stall_ns = TIMELINE_UNKNOWN;
}

static struct bursts find(const struct place *place)
{
    const struct timeline *t = place->t;
    struct run runs[TIMELINE_BINS];
    unsigned n = keep_large(runs, find_runs(t, runs));
    struct bursts ret = {.n = n};

    if (n < LEAST_BURSTS || !are_apart(runs, n) || !are_regular(runs, n))
        return (struct bursts){0};
    for (unsigned i = 0; i < n; i++) {
        uint64_t length_s = (runs[i].last - runs[i].first + 1) * t->width_s;

        ret.longest_s = length_s > ret.longest_s ? length_s : ret.longest_s;
    }
    ret.every_s =
        (uint64_t)((runs[n - 1].middle - runs[0].middle) * (double)t->width_s / (n - 1) + 0.5);
    extend_runs(t, runs, n);
    add_runs(place, runs, n, &ret);
    return ret;
}

struct bursts bursts_find(const struct timeline *t)
{
    return find(&(struct place){t, NULL});
}

struct bursts bursts_of_mount(const struct io_mounts *mounts, const struct io_mount *m)
{
    return find(&(struct place){&m->timeline, mounts});
}
