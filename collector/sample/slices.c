/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest wait of one thread on a mount in each of the last slices of time (probe.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sample/sampler_impl.h"
#include "common/clock.h"
#include "common/numbers.h"

static uint64_t *slice_at(struct slices *s, uint64_t slice)
{
    return &s->wait_ns[slice % SLICES_KEPT];
}

static uint64_t oldest(const struct slices *s)
{
    return s->newest > SLICES_KEPT ? s->newest - SLICES_KEPT + 1 : 1;
}

static uint64_t wait_until(const struct slices *s, uint64_t slice)
{
    return slice < oldest(s) || slice > s->newest ? 0 : s->wait_ns[slice % SLICES_KEPT];
}

static void advance(struct slices *s, uint64_t slice)
{
    if (slice > s->newest + SLICES_KEPT)
        s->newest = slice - SLICES_KEPT;
    while (s->newest < slice)
        *slice_at(s, ++s->newest) = 0;
}

void slices_raise(struct slices *s, uint64_t slice, uint64_t wait_ns)
{
    advance(s, slice);
    if (slice >= oldest(s))
        raise_to(slice_at(s, slice), wait_ns);
}

void slices_merge(struct slices *to, const struct slices *from)
{
    for (uint64_t slice = oldest(from); slice <= from->newest; slice++)
        slices_raise(to, slice, wait_until(from, slice));
}

/* From the newest slice to the oldest one: the longest wait in this slice. early_ns: the longest
 * one before the slice of a thread that was waiting when it started. */
static uint64_t wait_inside(uint64_t wait_ns, uint64_t *early_ns)
{
    uint64_t inside;

    wait_ns = max_u64(wait_ns, *early_ns);
    inside = wait_ns < PROBE_SLICE_NS ? wait_ns : PROBE_SLICE_NS;
    *early_ns = wait_ns - inside;
    return inside;
}

/* The time line of the wait in a slice that was added since the last reading. A slice from before
 * that reading has more since then if a thread waited at its end. */
static int spread_slice(struct timeline *t, const struct slices_span *span, uint64_t slice,
                        uint64_t added_ns)
{
    uint64_t start = probe_slice_start_ns(slice), end = start + PROBE_SLICE_NS, from;
    const struct timeline_bin what = {.longest_ns = added_ns};

    end = end < span->to_ns ? end : span->to_ns;
    from = start > span->from_ns ? start : span->from_ns;
    if (from > end || end - from < added_ns)
        from = end > added_ns ? end - added_ns : 0;
    return timeline_spread(t, span->width_s, followed_real_ns(span->followed, from),
                           followed_real_ns(span->followed, end), &what);
}

/* What other threads waited in this time before the slices that are kept is not known any more. */
static int spread_unknown(struct timeline *t, const struct slices_span *span, uint64_t from_ns,
                          uint64_t to_ns)
{
    const struct timeline_bin what = {.longest_ns = TIMELINE_UNKNOWN};

    return timeline_spread(t, span->width_s, followed_real_ns(span->followed, from_ns),
                           followed_real_ns(span->followed, to_ns), &what);
}

static uint64_t subtract(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* A bin has at most its width. Returns what is more, with that of the bin after or before. */
static uint64_t limit_bin(const struct timeline *t, unsigned i, uint64_t excess_ns)
{
    uint64_t width = t->width_s * NS_PER_S, *longest = &t->bins[i].longest_ns, sum;

    if (*longest == TIMELINE_UNKNOWN)
        return 0;
    sum = *longest + excess_ns;
    *longest = sum < width ? sum : width;
    return sum - *longest;
}

/* In a slice, the wait found by a reading can be more than the time since the last one: that thread
 * waited at the same time as the one that had waited longest until then. Together they may be more
 * than a bin has time. Move the excess to the bins before, or else after it: the thread waited in
 * those, and there is room, because no slice has more wait than time. */
static int limit_bins(struct timeline *t, const struct slices_span *span)
{
    uint64_t excess = 0, start = t->start_s * NS_PER_S, front;
    int r = 0;

    for (unsigned i = t->n; i > 0; i--)
        excess = limit_bin(t, i - 1, excess);
    front = subtract(start, followed_real_ns(span->followed, 0));
    front = front < excess ? front : excess;
    for (unsigned i = 0; i < t->n && excess > front; i++)
        excess = front + limit_bin(t, i, excess - front);
    if (front) {
        const struct timeline_bin what = {.longest_ns = front};

        r = timeline_spread(t, span->width_s, start - front, start, &what);
    }
    return r;
}

int slices_spread(struct timeline *t, const struct slices_span *span, const struct slices *now,
                  const struct slices *before)
{
    uint64_t first = oldest(before->newest ? before : now), early = 0, last_early = 0, start;
    int r = 0;

    for (uint64_t slice = now->newest; slice >= first && r == 0; slice--) {
        uint64_t until = wait_until(before, slice), last = wait_inside(until, &last_early);
        uint64_t wait = wait_inside(max_u64(wait_until(now, slice), until), &early);

        if (wait > last)
            r = spread_slice(t, span, slice, wait - last);
        else if (slice < oldest(now) && early == last_early)
            break; /* nothing was added before */
    }
    start = probe_slice_start_ns(first);
    if (early > last_early && r == 0)
        r = spread_unknown(t, span, subtract(start, early), subtract(start, last_early));
    return r == 0 ? limit_bins(t, span) : r;
}

int slices_reserve(struct slices_list *list, size_t n)
{
    struct slices *grown;

    if (n <= list->n)
        return 0;
    grown = reallocarray(list->items, n, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    memset(grown + list->n, 0, (n - list->n) * sizeof(*grown));
    list->items = grown;
    list->n = n;
    return 0;
}

void slices_clear(struct slices_list *list)
{
    free(list->items);
    *list = (struct slices_list){0};
}
