/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/numbers.h"

#define LAST_START_S (UINT64_C(1) << 35)
#define ROOM_STEP 8 /* bins; a running step grows by one or two at a time */

static void add_kinds(struct timeline_bin *to, const struct timeline_bin *from)
{
    for (int k = 0; k < TIMELINE_KINDS; k++)
        add_saturating(&to->of[k], from->of[k]);
}

/* Bins of the same time line. */
static void bin_add(struct timeline_bin *to, const struct timeline_bin *from)
{
    add_kinds(to, from);
    add_saturating(&to->longest_ns, from->longest_ns);
}

/* Bins of two time lines. */
static void bin_merge(struct timeline_bin *to, const struct timeline_bin *from)
{
    add_kinds(to, from);
    raise_to(&to->longest_ns, from->longest_ns);
}

const char *timeline_kind_name(enum timeline_kind kind)
{
    static const char *const names[] = {
        [TIMELINE_READ] = "read_bytes",         [TIMELINE_WRITE] = "write_bytes",
        [TIMELINE_META] = "meta_requests",      [TIMELINE_WAIT] = "wait_ns",
        [TIMELINE_LONGEST] = "longest_wait_ns",
    };

    return names[kind];
}

uint64_t *timeline_number(struct timeline_bin *bin, enum timeline_kind kind)
{
    return kind == TIMELINE_LONGEST ? &bin->longest_ns : &bin->of[kind];
}

unsigned timeline_length(const struct timeline *t, enum timeline_kind kind)
{
    unsigned n = t->n;

    while (n && !*timeline_number(&t->bins[n - 1], kind))
        n--;
    if (kind != TIMELINE_LONGEST)
        return n;
    return timeline_sum(t).longest_ns == TIMELINE_UNKNOWN ? 0 : n ? n : 1;
}

bool timeline_is_empty(const struct timeline *t)
{
    return !t->n;
}

bool timeline_bin_is_empty(const struct timeline_bin *bin)
{
    for (int k = 0; k < TIMELINE_KINDS; k++)
        if (bin->of[k])
            return false;
    return !bin->longest_ns;
}

uint64_t timeline_end_s(const struct timeline *t)
{
    return t->start_s + t->n * t->width_s;
}

struct timeline_bin timeline_sum(const struct timeline *t)
{
    struct timeline_bin sum = {0};

    for (unsigned i = 0; i < t->n; i++)
        bin_add(&sum, &t->bins[i]);
    return sum;
}

struct timeline_bin timeline_between(const struct timeline *t, uint64_t from_s, uint64_t to_s)
{
    struct timeline_bin sum = {0};
    uint64_t at = t->start_s;

    for (unsigned i = 0; i < t->n && at < to_s; i++, at += t->width_s)
        if (at >= from_s)
            bin_add(&sum, &t->bins[i]);
    return sum;
}

uint64_t timeline_width(uint64_t interval_ns)
{
    uint64_t width = 1;

    while (width < TIMELINE_MAX_S && width * 2 <= interval_ns / NS_PER_S)
        width *= 2;
    return width;
}

void timeline_clear(struct timeline *t)
{
    if (!t)
        return;
    free(t->bins);
    *t = (struct timeline){0};
}

/* Remove empty bins at the ends. */
static void trim(struct timeline *t)
{
    unsigned front = 0;

    while (t->n && timeline_bin_is_empty(&t->bins[t->n - 1]))
        t->n--;
    while (front < t->n && timeline_bin_is_empty(&t->bins[front]))
        front++;
    if (front) {
        t->n -= front;
        t->start_s += front * t->width_s;
        memmove(t->bins, t->bins + front, t->n * sizeof(*t->bins));
    }
    if (!t->n)
        t->start_s = t->width_s = 0;
}

/* --- width and room --------------------------------------------------------------------------- */

static uint64_t floor_to(uint64_t s, uint64_t width)
{
    return s & ~(width - 1);
}

/* Number of bins of this width from that of first_s to that of last_s. */
static uint64_t count_bins(uint64_t first_s, uint64_t last_s, uint64_t width)
{
    return (floor_to(last_s, width) - floor_to(first_s, width)) / width + 1;
}

static uint64_t fitting_width(uint64_t first_s, uint64_t last_s, uint64_t width)
{
    while (count_bins(first_s, last_s, width) > TIMELINE_BINS)
        width *= 2;
    return width;
}

static uint64_t last_start(const struct timeline *t)
{
    return t->start_s + (t->n - 1) * t->width_s;
}

void timeline_widen(struct timeline *t, uint64_t width_s)
{
    uint64_t start;

    if (!t->n || width_s <= t->width_s)
        return;
    start = floor_to(t->start_s, width_s);
    for (unsigned i = 0; i < t->n; i++) {
        /* Never after i, so no bin is overwritten before it is read. */
        uint64_t to = (t->start_s + i * t->width_s - start) / width_s;
        struct timeline_bin bin = t->bins[i];

        memset(&t->bins[i], 0, sizeof(bin));
        bin_add(&t->bins[to], &bin);
    }
    t->n = (unsigned)((last_start(t) - start) / width_s + 1);
    t->start_s = start;
    t->width_s = width_s;
}

void timeline_limit(struct timeline *t, unsigned max)
{
    while (t->n > max && t->n > 1)
        timeline_widen(t, t->width_s * 2);
}

static int make_room(struct timeline *t, uint64_t n)
{
    unsigned room = (unsigned)((n + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP);
    struct timeline_bin *grown;

    if (n <= t->room)
        return 0;
    grown = reallocarray(t->bins, room, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    t->bins = grown;
    t->room = room;
    return 0;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Start, width and number of bins of the sum. */
struct shape {
    uint64_t start_s, width_s, n;
};

static struct shape shape_of_sum(const struct timeline *a, const struct timeline *b)
{
    uint64_t first = a->start_s < b->start_s ? a->start_s : b->start_s;
    uint64_t last = last_start(a) > last_start(b) ? last_start(a) : last_start(b);
    uint64_t width = a->width_s > b->width_s ? a->width_s : b->width_s;

    width = fitting_width(first, last, width);
    return (struct shape){floor_to(first, width), width, count_bins(first, last, width)};
}

int timeline_reserve(struct timeline *to, const struct timeline *from)
{
    if (!from->n)
        return 0;
    return make_room(to, to->n ? shape_of_sum(to, from).n : from->n);
}

/* The room must be reserved. */
static void take_shape(struct timeline *t, const struct shape *shape)
{
    uint64_t front;

    timeline_widen(t, shape->width_s);
    front = (t->start_s - shape->start_s) / t->width_s;
    memmove(t->bins + front, t->bins, t->n * sizeof(*t->bins));
    memset(t->bins, 0, front * sizeof(*t->bins));
    t->start_s = shape->start_s;
    t->n += (unsigned)front;
    memset(t->bins + t->n, 0, (shape->n - t->n) * sizeof(*t->bins));
    t->n = (unsigned)shape->n;
}

/* Add the bins, once the room is reserved. */
static void add_bins(struct timeline *to, const struct timeline *from,
                     void (*add)(struct timeline_bin *, const struct timeline_bin *))
{
    struct shape shape;

    if (!to->n) {
        memcpy(to->bins, from->bins, from->n * sizeof(*to->bins));
        to->start_s = from->start_s;
        to->width_s = from->width_s;
        to->n = from->n;
        return;
    }
    shape = shape_of_sum(to, from);
    take_shape(to, &shape);
    for (unsigned i = 0; i < from->n; i++)
        add(&to->bins[(from->start_s + i * from->width_s - to->start_s) / to->width_s],
            &from->bins[i]);
}

int timeline_add(struct timeline *to, const struct timeline *from)
{
    struct timeline_bin bins[TIMELINE_BINS];
    struct timeline wide = *from;

    if (!from->n)
        return 0;
    if (timeline_reserve(to, from) < 0)
        return -ENOMEM;
    if (to->n) {
        wide.bins = memcpy(bins, from->bins, from->n * sizeof(*bins));
        timeline_widen(&wide, shape_of_sum(to, from).width_s);
    }
    add_bins(to, &wide, bin_merge);
    return 0;
}

void timeline_forget_longest(struct timeline *t)
{
    for (unsigned i = 0; i < t->n; i++)
        t->bins[i].longest_ns = t->bins[i].of[TIMELINE_WAIT] ? TIMELINE_UNKNOWN : 0;
    trim(t);
}

int timeline_copy(const struct timeline *from, struct timeline *ret)
{
    struct timeline copy = {0};

    if (timeline_add(&copy, from) < 0)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

int timeline_set(struct timeline *ret, uint64_t start_s, uint64_t width_s,
                 const struct timeline_bin *bins, size_t n)
{
    struct timeline t = {.start_s = start_s, .width_s = width_s};

    if (!n) {
        *ret = (struct timeline){0};
        return 0;
    }
    if (!width_s || width_s & (width_s - 1) || width_s > TIMELINE_MAX_S ||
        start_s & (width_s - 1) || n > TIMELINE_BINS || start_s + n * width_s < start_s ||
        start_s + (n - 1) * width_s >= LAST_START_S)
        return -EINVAL;
    if (make_room(&t, n) < 0)
        return -ENOMEM;
    memcpy(t.bins, bins, n * sizeof(*bins));
    t.n = (unsigned)n;
    trim(&t);
    *ret = t;
    return 0;
}

/* --- readings --------------------------------------------------------------------------------- */

/* value * part / total, rounded down; part <= total. */
static uint64_t scale(uint64_t value, uint64_t part, uint64_t total)
{
    return (uint64_t)((unsigned __int128)value * part / total);
}

/* The part of `what` that falls before at_ns. */
static struct timeline_bin take_share(const struct timeline_bin *what, uint64_t from_ns,
                                      uint64_t to_ns, unsigned __int128 at_ns)
{
    uint64_t before = at_ns <= from_ns ? 0 : (uint64_t)at_ns - from_ns;
    struct timeline_bin part = *what;

    if (at_ns >= to_ns)
        return part;
    for (int k = 0; k < TIMELINE_KINDS; k++)
        part.of[k] = scale(what->of[k], before, to_ns - from_ns);
    part.longest_ns = scale(what->longest_ns, before, to_ns - from_ns);
    return part;
}

int timeline_spread(struct timeline *t, uint64_t min_width_s, uint64_t from_ns, uint64_t to_ns,
                    const struct timeline_bin *what)
{
    struct timeline_bin bins[TIMELINE_BINS], done = {0};
    struct timeline piece = {.bins = bins, .room = TIMELINE_BINS};
    uint64_t width = t->width_s > min_width_s ? t->width_s : min_width_s, first, last;

    if (from_ns > to_ns)
        from_ns = to_ns;
    first = from_ns / NS_PER_S;
    last = (to_ns > from_ns ? to_ns - 1 : to_ns) / NS_PER_S;
    piece.width_s = fitting_width(first, last, width ? width : 1);
    piece.start_s = floor_to(first, piece.width_s);
    piece.n = (unsigned)count_bins(first, last, piece.width_s);
    for (unsigned i = 0; i < piece.n; i++) {
        uint64_t end_s = piece.start_s + (i + 1) * piece.width_s;
        /* Each part ends where the next starts, so the next one gets the rounding rest. */
        struct timeline_bin now =
            take_share(what, from_ns, to_ns, (unsigned __int128)end_s * NS_PER_S);

        for (int k = 0; k < TIMELINE_KINDS; k++)
            bins[i].of[k] = now.of[k] - done.of[k];
        bins[i].longest_ns = what->longest_ns == TIMELINE_UNKNOWN
                                 ? TIMELINE_UNKNOWN
                                 : now.longest_ns - done.longest_ns;
        done = now;
    }
    trim(&piece);
    if (!piece.n)
        return 0;
    if (timeline_reserve(t, &piece) < 0)
        return -ENOMEM;
    add_bins(t, &piece, bin_add);
    return 0;
}

/* --- moves ------------------------------------------------------------------------------------ */

int timeline_move(struct timeline *from, const struct timeline_bin *what, struct timeline *to)
{
    struct timeline_bin bins[TIMELINE_BINS], sum = timeline_sum(from), seen = {0}, done = {0};
    struct timeline piece = {from->start_s, from->width_s, from->n, TIMELINE_BINS, bins};

    for (unsigned i = 0; i < from->n; i++)
        for (int k = 0; k < TIMELINE_KINDS; k++) {
            uint64_t amount = what->of[k] < sum.of[k] ? what->of[k] : sum.of[k], now;

            add_saturating(&seen.of[k], from->bins[i].of[k]);
            now = sum.of[k] ? scale(amount, seen.of[k], sum.of[k]) : 0;
            bins[i].of[k] = now - done.of[k];
            done.of[k] = now;
        }
    timeline_forget_longest(&piece);
    if (to && timeline_add(to, &piece) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < piece.n; i++) {
        uint64_t at = (piece.start_s - from->start_s) / from->width_s + i;

        for (int k = 0; k < TIMELINE_KINDS; k++)
            from->bins[at].of[k] -= bins[i].of[k];
    }
    if (piece.n)
        timeline_forget_longest(from);
    return 0;
}
