/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/summary/busiest.h"

#include <stdbool.h>
#include <stdlib.h>

#include "common/cleanup.h"

#define LEAST_BINS 10 /* in a time line with fewer bins, none stands out */

/* What a bin did per second; compared in this order. */
struct busy {
    double wait, bytes, meta;
};

static struct busy busy_of(const struct timeline *t, unsigned i)
{
    const uint64_t *of = t->bins[i].of;
    double width = (double)t->width_s;

    return (struct busy){(double)of[TIMELINE_WAIT] / width,
                         ((double)of[TIMELINE_READ] + (double)of[TIMELINE_WRITE]) / width,
                         (double)of[TIMELINE_META] / width};
}

static bool is_busier(struct busy a, struct busy b)
{
    if (a.wait != b.wait)
        return a.wait > b.wait;
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.meta > b.meta;
}

/* At least half as busy as `seed`, by the first of its values that is not 0. */
static bool belongs(struct busy bin, struct busy seed)
{
    if (seed.wait > 0)
        return bin.wait * 2 >= seed.wait;
    return seed.bytes > 0 ? bin.bytes * 2 >= seed.bytes : bin.meta * 2 >= seed.meta;
}

/* The position of a bin. */
struct place {
    size_t mount;
    unsigned bin;
};

static bool find_busiest(const struct io_mounts *mounts, const bool *used, struct place *ret)
{
    struct busy best = {0};
    bool found = false;

    for (size_t m = 0; m < mounts->n; m++)
        for (unsigned i = 0; i < mounts->items[m].timeline.n; i++) {
            struct busy busy = busy_of(&mounts->items[m].timeline, i);

            if (used[m * TIMELINE_BINS + i] || !is_busier(busy, best))
                continue;
            best = busy;
            *ret = (struct place){m, i};
            found = true;
        }
    return found;
}

/* From the busiest bin to both sides. */
static struct busiest_time grow(const struct io_mount *m, unsigned seed, bool *used)
{
    const struct timeline *t = &m->timeline;
    struct busy busiest = busy_of(t, seed);
    unsigned first = seed, last = seed;

    while (first > 0 && !used[first - 1] && belongs(busy_of(t, first - 1), busiest))
        first--;
    while (last + 1 < t->n && !used[last + 1] && belongs(busy_of(t, last + 1), busiest))
        last++;
    for (unsigned i = first; i <= last; i++)
        used[i] = true;
    return (struct busiest_time){
        .mount = m,
        .start_s = t->start_s + first * t->width_s,
        .length_s = (last - first + 1) * t->width_s,
        .what = timeline_between(t, t->start_s + first * t->width_s,
                                 t->start_s + (last + 1) * t->width_s),
    };
}

size_t summary_busiest(const struct io_mounts *mounts, struct busiest_time *ret, size_t max)
{
    _free_ bool *used = calloc(mounts->n + 1, TIMELINE_BINS * sizeof(*used));
    struct place place;
    size_t n = 0;

    while (used && n < max && find_busiest(mounts, used, &place))
        ret[n++] = grow(&mounts->items[place.mount], place.bin, used + place.mount * TIMELINE_BINS);
    return n;
}

bool busiest_stands_out(const struct busiest_time *top)
{
    const struct timeline *t = &top->mount->timeline;
    struct timeline_bin sum = timeline_sum(t);
    double share = (double)top->length_s / ((double)t->n * (double)t->width_s);
    enum timeline_kind first = sum.of[TIMELINE_WAIT] ? TIMELINE_WAIT : TIMELINE_READ;

    for (enum timeline_kind kind = first; t->n >= LEAST_BINS && kind < TIMELINE_KINDS; kind++)
        if (sum.of[kind] && (double)top->what.of[kind] >= 2 * share * (double)sum.of[kind])
            return true;
    return false;
}
