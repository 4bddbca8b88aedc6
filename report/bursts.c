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

/* What a burst did is also in the bins beside it, if there was little of it. */
static struct timeline_bin run_sum(const struct timeline *t, const struct run *run)
{
    uint64_t from_s = t->start_s + run->first * t->width_s;
    uint64_t to_s = t->start_s + (run->last + 1) * t->width_s;

    return timeline_between(t, from_s - t->width_s, to_s + t->width_s);
}

struct bursts bursts_find(const struct timeline *t)
{
    struct run runs[TIMELINE_BINS];
    unsigned n = keep_large(runs, find_runs(t, runs));
    struct bursts ret = {.n = n};

    if (n < LEAST_BURSTS || !are_apart(runs, n) || !are_regular(runs, n))
        return (struct bursts){0};
    for (unsigned i = 0; i < n; i++) {
        uint64_t length_s = (runs[i].last - runs[i].first + 1) * t->width_s;
        struct timeline_bin sum = run_sum(t, &runs[i]);

        ret.longest_s = length_s > ret.longest_s ? length_s : ret.longest_s;
        add_saturating(&ret.bytes, sum.of[TIMELINE_WRITE]);
        add_saturating(&ret.wait_ns, sum.of[TIMELINE_WAIT]);
    }
    ret.every_s =
        (uint64_t)((runs[n - 1].middle - runs[0].middle) * (double)t->width_s / (n - 1) + 0.5);
    return ret;
}

uint64_t bursts_stall_ns(const struct bursts *bursts, uint64_t longest_wait_ns,
                         uint64_t total_wait_ns)
{
    uint64_t most = longest_wait_ns < bursts->wait_ns ? longest_wait_ns : bursts->wait_ns;
    uint64_t share;

    if (!total_wait_ns)
        return 0;
    share = (uint64_t)((double)longest_wait_ns * (double)bursts->wait_ns / (double)total_wait_ns);
    return share < most ? share : most;
}
