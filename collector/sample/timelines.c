/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time lines. The sum of a time line is the total of its mount at the last reading: the difference
 * to the total now was added since. If a super block gets its name late, its I/O so far is on the
 * time line of another name and is moved from there.
 */
#include <string.h>

#include "collector/sample/sampler_impl.h"

/* a - b, at least 0. */
static struct timeline_bin subtract(struct timeline_bin a, struct timeline_bin b)
{
    for (int k = 0; k < TIMELINE_KINDS; k++)
        a.of[k] = a.of[k] > b.of[k] ? a.of[k] - b.of[k] : 0;
    return a;
}

/* The I/O of the mount that is not on its time line yet. */
static struct timeline_bin missing(const struct io_mount *m)
{
    return subtract(io_account_now(&m->io), timeline_sum(&m->timeline));
}

/* The I/O on its time line that belongs to a mount whose name became known later. */
static struct timeline_bin misplaced(const struct io_mount *m)
{
    return subtract(timeline_sum(&m->timeline), io_account_now(&m->io));
}

static uint64_t real_time(const struct followed *f, uint64_t boot_ns)
{
    return f->real_ns + (boot_ns > f->started_ns ? boot_ns - f->started_ns : 0);
}

int timelines_resume(struct followed *f, const struct step_account *stored)
{
    int r = io_mounts_copy(&stored->mounts, &f->before);

    f->timed_ns = f->started_ns + stored->elapsed_ns;
    /* Stored by a release without time lines: the times are unknown. */
    for (size_t i = 0; i < f->before.n && !r; i++) {
        struct timeline_bin rest = missing(&f->before.items[i]);

        r = timeline_spread(&f->before.items[i].timeline, 1, f->real_ns, real_time(f, f->timed_ns),
                            &rest);
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

int timelines_update(struct sampler *sampler, struct followed *f, uint64_t now_ns)
{
    struct io_mounts *before = f->before.n ? &f->before : &f->mounts;
    uint64_t width = timeline_width(sampler->interval_ns);
    int r;

    for (size_t i = 0; i < f->fresh.n; i++)
        take_timeline(&f->fresh.items[i], before);
    r = move_renamed(&f->fresh, before);
    for (size_t i = 0; i < f->fresh.n && !r; i++) {
        struct io_mount *m = &f->fresh.items[i];
        struct timeline_bin rest = missing(m);

        r = timeline_spread(&m->timeline, width, real_time(f, f->timed_ns), real_time(f, now_ns),
                            &rest);
    }
    if (!r)
        f->timed_ns = now_ns;
    io_mounts_clear(&f->before);
    return r;
}
