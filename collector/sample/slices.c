/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest wait of one thread on a mount in each of the last slices of time (probe.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sample/sampler_impl.h"
#include "common/numbers.h"

static uint64_t *slice_at(struct slices *s, uint64_t slice)
{
    return &s->wait_ns[slice % SLICES_KEPT];
}

static uint64_t oldest(const struct slices *s)
{
    return s->newest > SLICES_KEPT ? s->newest - SLICES_KEPT + 1 : 1;
}

uint64_t slices_wait_ns(const struct slices *s, uint64_t slice)
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
    if (slice < oldest(s))
        return;
    for (; wait_ns && slice >= oldest(s); slice--) {
        uint64_t inside = wait_ns < PROBE_SLICE_NS ? wait_ns : PROBE_SLICE_NS;

        raise_to(slice_at(s, slice), inside);
        wait_ns -= inside;
    }
    raise_to(&s->earlier_ns, wait_ns);
}

void slices_merge(struct slices *to, const struct slices *from)
{
    for (uint64_t slice = oldest(from); slice <= from->newest; slice++)
        slices_raise(to, slice, slices_wait_ns(from, slice));
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

/* A call took longer than the slices that are kept: what other threads did before is not known any
 * more. */
static int spread_earlier(struct timeline *t, const struct slices_span *span,
                          const struct slices *now)
{
    const struct timeline_bin what = {.longest_ns = TIMELINE_UNKNOWN};
    uint64_t to = probe_slice_start_ns(oldest(now));
    uint64_t from = to > now->earlier_ns ? to - now->earlier_ns : 0;

    return timeline_spread(t, span->width_s, followed_real_ns(span->followed, from),
                           followed_real_ns(span->followed, to), &what);
}

int slices_spread(struct timeline *t, const struct slices_span *span, const struct slices *now,
                  const struct slices *before)
{
    int r = 0;

    for (uint64_t slice = oldest(now); slice <= now->newest && r == 0; slice++) {
        uint64_t wait = slices_wait_ns(now, slice), last = slices_wait_ns(before, slice);

        if (wait > last)
            r = spread_slice(t, span, slice, wait - last);
        if (wait && r == 0 && slice == oldest(now) && now->earlier_ns)
            r = spread_earlier(t, span, now);
    }
    return r;
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
