/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters that wrapped. The kernel's buckets and some other counters are u32. The probe widens
 * them as it reads them, but after an adoption it knows them only modulo 2^32. The stored numbers
 * of the earlier process are widened: the true number is at least the stored one, and equal modulo
 * 2^32.
 */
#include <string.h>

#include "collector/sample/sampler_impl.h"

#define WRAP (1ull << 32)

int wraps_resume(struct followed *f, const struct io_mounts *stored)
{
    int r = io_mounts_copy(stored, &f->wraps);

    f->wraps_known = false;
    for (size_t i = 0; i < f->wraps.n; i++)
        timeline_clear(&f->wraps.items[i].timeline);
    return r;
}

/* Turn the stored value into the difference to add, at the first reading. */
static uint64_t find_wraps(uint64_t stored, uint64_t now)
{
    return now < stored ? (stored - now + WRAP - 1) / WRAP * WRAP : 0;
}

static void apply_one(uint64_t *now, uint64_t *wraps, bool known)
{
    if (!known)
        *wraps = find_wraps(*wraps, *now);
    *now += *wraps;
}

static void apply_op(struct io_counter *now, struct io_counter *wraps, bool known)
{
    for (size_t i = 0; i < IO_FIELD_COUNT; i++) {
        const struct io_field *field = &io_fields[i];
        size_t n = field->kind == IO_FIELD_HISTOGRAM ? IO_BUCKETS : 1;

        for (size_t b = 0; field->flags & IO_FIELD_WRAPS && b < n; b++)
            apply_one(&io_field_in(field, now)[b], &io_field_in(field, wraps)[b], known);
    }
}

static void apply(struct io_mount *m, const struct io_mount *wraps, bool known)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        struct io_counter *to = m->io.ops[op], *from = wraps->io.ops[op];

        if (to && from)
            apply_op(to, from, known);
    }
}

void wraps_apply(struct followed *f)
{
    for (size_t i = 0; f->wraps.n && i < f->fresh.n; i++) {
        const struct io_mount *m = &f->fresh.items[i];
        const struct io_mount *wraps =
            io_mounts_find(&f->wraps, m->mount, m->fstype, m->source, m->private);

        if (wraps)
            apply(&f->fresh.items[i], wraps, f->wraps_known);
    }
    f->wraps_known = true;
}

static uint64_t missing(const struct io_counter *c)
{
    uint64_t sum = c->async_requests;
    bool any = false;

    for (int i = 0; i < IO_BUCKETS; i++) {
        sum += c->latency_log2[i];
        any |= c->latency_log2[i] != 0;
    }
    return any && c->requests > sum && c->requests - sum >= WRAP ? c->requests - sum : 0;
}

int wraps_mark_incomplete(const struct followed *f, struct completeness *causes)
{
    uint64_t count = 0, ops = 0;

    for (size_t i = 0; i < f->mounts.n; i++)
        for (int op = 0; op < IO_OP_COUNT; op++) {
            const struct io_counter *c = f->mounts.items[i].io.ops[op];
            uint64_t n = c ? missing(c) : 0;

            count += n;
            ops |= n ? 1ull << op : 0;
        }
    return count ? completeness_add(causes, CAUSE_HISTOGRAM, count, ops) : 0;
}
