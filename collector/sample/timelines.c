/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time lines. The sum of a time line is the total of its mount at the last reading: the difference
 * to the total now was added since. If a super block gets its name late, its I/O so far is on the
 * time line of another name and is moved from there.
 *
 * A call is counted when it returns. Calls that may have taken longer than the time between two
 * readings are spread over the time that they lasted, else one call of a minute would look like
 * twelve threads that waited for 5 s. Their number is that of the histogram's buckets that end
 * after that time; their duration is the end of the bucket, or the longest call if that is
 * shorter: exact for the longest call, at most twice too long for others.
 *
 * The longest wait of one thread is counted by slices of time (slices.c). It is unknown for the
 * time that another process counted and has not stored, and if the last reading is too long ago.
 */
#include <string.h>

#include "collector/sample/sampler_impl.h"

/* a - b, at least 0. */
static struct timeline_bin subtract(struct timeline_bin a, struct timeline_bin b)
{
    for (int k = 0; k < TIMELINE_KINDS; k++)
        a.of[k] = a.of[k] > b.of[k] ? a.of[k] - b.of[k] : 0;
    a.longest_ns = 0;
    return a;
}

/* The I/O of the mount that is not on its time line yet, without the longest wait. */
static struct timeline_bin missing(const struct io_mount *m)
{
    return subtract(io_account_now(&m->io), timeline_sum(&m->timeline));
}

/* The I/O on its time line that belongs to a mount whose name became known later. */
static struct timeline_bin misplaced(const struct io_mount *m)
{
    return subtract(timeline_sum(&m->timeline), io_account_now(&m->io));
}

int timelines_resume(struct followed *f, const struct step_account *stored)
{
    int r = io_mounts_copy(&stored->mounts, &f->before);

    f->timed_ns = f->started_ns + stored->elapsed_ns;
    /* Stored by a release without time lines: the times are unknown. */
    for (size_t i = 0; i < f->before.n && !r; i++) {
        struct timeline_bin rest = missing(&f->before.items[i]);

        rest.longest_ns = rest.of[TIMELINE_WAIT] ? TIMELINE_UNKNOWN : 0;
        r = timeline_spread(&f->before.items[i].timeline, 1, f->real_ns,
                            followed_real_ns(f, f->timed_ns), &rest);
    }
    return r;
}

static void take_timeline(struct io_mount *m, const struct io_mounts *before)
{
    struct io_mount *from = io_mounts_find(before, m->mount, m->fstype, m->source, m->private);

    if (!from || !from->timeline.n)
        return;
    m->timeline = from->timeline;
    from->timeline = (struct timeline){0};
}

enum preference { SAME_DEVICE, NEW_NAME, ANY };

static bool may_take(const struct io_mount *m, uint64_t dev, enum preference preference)
{
    if (preference == SAME_DEVICE)
        return dev && m->dev == dev;
    return preference == ANY || timeline_is_empty(&m->timeline);
}

/* Move `what` to mounts whose time lines lack it. Drop the rest, whose counters are gone. */
static int move_to_lacking(struct io_mounts *fresh, struct timeline *from, uint64_t dev,
                           struct timeline_bin what)
{
    what.longest_ns = 0;
    if (timeline_bin_is_empty(&what)) /* the usual case: no mount was renamed */
        return 0;
    for (int preference = SAME_DEVICE; preference <= ANY; preference++)
        for (size_t i = 0; i < fresh->n && !timeline_bin_is_empty(&what); i++) {
            struct io_mount *to = &fresh->items[i];
            struct timeline_bin lack, rest, part;

            if (&to->timeline == from || !may_take(to, dev, (enum preference)preference))
                continue;
            lack = missing(to);
            rest = subtract(what, lack);
            part = subtract(what, rest);
            if (timeline_move(from, &part, &to->timeline) < 0)
                return -ENOMEM;
            what = rest;
        }
    return timeline_move(from, &what, NULL);
}

static int move_renamed(struct io_mounts *fresh, struct io_mounts *before)
{
    int r = 0;

    for (size_t i = 0; i < before->n && !r; i++) {
        struct io_mount *m = &before->items[i];

        r = move_to_lacking(fresh, &m->timeline, m->dev, timeline_sum(&m->timeline));
    }
    for (size_t i = 0; i < fresh->n && !r; i++) {
        struct io_mount *m = &fresh->items[i];

        r = move_to_lacking(fresh, &m->timeline, m->dev, misplaced(m));
    }
    return r;
}

/* The waiting in `calls` calls of one bucket, all of which returned by now. */
struct long_calls {
    uint64_t calls, length_ns;
};

/* The calls of an operation in a bucket since the last reading; `before` may be NULL. */
static struct long_calls calls_in(const struct io_counter *now, const struct io_counter *before,
                                  unsigned bucket)
{
    uint64_t bound = io_latency_bound(bucket);
    uint64_t calls = now->latency_log2[bucket], earlier = before ? before->latency_log2[bucket] : 0;

    return (struct long_calls){calls > earlier ? calls - earlier : 0,
                               bound < now->max_ns ? bound : now->max_ns};
}

/* Move the waiting of these calls, at most that of `rest`, to the time line. 0 or -ENOMEM. */
static int spread_calls(struct io_mount *m, const struct followed *f, uint64_t now_ns,
                        uint64_t width_s, const struct long_calls *calls, struct timeline_bin *rest)
{
    uint64_t *left = &rest->of[TIMELINE_WAIT], age = now_ns - f->started_ns;
    uint64_t length = calls->length_ns < age ? calls->length_ns : age;
    bool fits = *left / calls->length_ns >= calls->calls;
    struct timeline_bin part = {.longest_ns = rest->longest_ns};
    int r;

    part.of[TIMELINE_WAIT] = fits ? calls->calls * calls->length_ns : *left;
    r = timeline_spread(&m->timeline, width_s, followed_real_ns(f, now_ns - length),
                        followed_real_ns(f, now_ns), &part);
    if (r == 0)
        *left -= part.of[TIMELINE_WAIT];
    return r;
}

/* The same for all long calls on the mount since the last reading, `before` (may be NULL). The
 * longest come first. */
static int spread_long(struct io_mount *m, const struct io_mount *before, const struct followed *f,
                       uint64_t now_ns, uint64_t width_s, struct timeline_bin *rest)
{
    uint64_t span = now_ns - f->timed_ns;
    int r = 0;

    for (unsigned i = 1; i <= IO_BUCKETS && io_latency_bound(IO_BUCKETS - i) > span; i++)
        for (int op = 0; op < IO_OP_COUNT && r == 0; op++) {
            const struct io_counter *now = m->io.ops[op];
            struct long_calls calls;

            if (!now || op == IO_CREATE)
                continue;
            calls = calls_in(now, before ? before->io.ops[op] : NULL, IO_BUCKETS - i);
            if (calls.calls && calls.length_ns > span)
                r = spread_calls(m, f, now_ns, width_s, &calls, rest);
        }
    return r;
}

static int update_mount(struct sampler *sampler, struct followed *f, size_t at,
                        const struct io_mounts *before, uint64_t now_ns)
{
    static const struct slices none;
    const struct slices *old = &none;
    struct io_mount *m = &f->fresh.items[at];
    struct slices *slices = &f->fresh_slices.items[at];
    const struct io_mount *last =
        io_mounts_find(before, m->mount, m->fstype, m->source, m->private);
    const struct slices_span span = {f, f->timed_ns, now_ns, timeline_width(sampler->interval_ns)};
    bool is_known = f->slices_known && now_ns < f->timed_ns + SLICES_GAP_NS;
    struct timeline_bin rest = missing(m);
    int r = 0;

    if (!is_known && rest.of[TIMELINE_WAIT])
        rest.longest_ns = TIMELINE_UNKNOWN;
    if (now_ns > f->timed_ns)
        r = spread_long(m, last, f, now_ns, span.width_s, &rest);
    if (r == 0)
        r = timeline_spread(&m->timeline, span.width_s, followed_real_ns(f, f->timed_ns),
                            followed_real_ns(f, now_ns), &rest);
    if (last && before == &f->mounts)
        old = &f->slices.items[last - before->items];
    slices_merge(slices, old);
    return r == 0 && is_known ? slices_spread(&m->timeline, &span, slices, old) : r;
}

int timelines_update(struct sampler *sampler, struct followed *f, uint64_t now_ns)
{
    struct io_mounts *before = f->before.n ? &f->before : &f->mounts;
    int r;

    for (size_t i = 0; i < f->fresh.n; i++)
        take_timeline(&f->fresh.items[i], before);
    r = move_renamed(&f->fresh, before);
    for (size_t i = 0; i < f->fresh.n && !r; i++)
        r = update_mount(sampler, f, i, before, now_ns);
    if (!r)
        f->timed_ns = now_ns;
    io_mounts_clear(&f->before);
    return r;
}
