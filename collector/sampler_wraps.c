/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histograms that wrapped. The kernel's buckets are u32; the probe widens them while it reads them,
 * but one that adopts them knows only what they are modulo 2^32. What the process before has stored
 * was widened: a bucket is the stored one or more, and the same modulo 2^32.
 */
#include <string.h>

#include "collector/sampler_impl.h"

#define WRAP (1ull << 32)

int wraps_resume(struct follower *f, const struct io_mounts *stored)
{
    f->wraps_known = false;
    return io_mounts_copy(stored, &f->wraps);
}

/* From the stored value to what is to be added, at the first reading. */
static void find_wraps(uint64_t stored[IO_BUCKETS], const uint64_t now[IO_BUCKETS])
{
    for (int i = 0; i < IO_BUCKETS; i++)
        stored[i] = now[i] < stored[i] ? (stored[i] - now[i] + WRAP - 1) / WRAP * WRAP : 0;
}

static void add_wraps(uint64_t now[IO_BUCKETS], const uint64_t wraps[IO_BUCKETS])
{
    for (int i = 0; i < IO_BUCKETS; i++)
        now[i] += wraps[i];
}

static const struct io_mount *find_mount(const struct io_mounts *mounts, const struct io_mount *m)
{
    for (size_t i = 0; i < mounts->n; i++) {
        const struct io_mount *at = &mounts->items[i];

        if (at->private == m->private && !strcmp(at->mount, m->mount) &&
            !strcmp(at->fstype, m->fstype) && !strcmp(at->source, m->source))
            return at;
    }
    return NULL;
}

static void apply(struct io_mount *m, const struct io_mount *wraps, bool known)
{
    for (int op = 0; op < IO_OP_COUNT; op++) {
        struct io_counter *to = m->io.ops[op], *from = wraps->io.ops[op];

        if (!to || !from)
            continue;
        if (!known) {
            find_wraps(from->latency_log2, to->latency_log2);
            find_wraps(from->size_log2, to->size_log2);
        }
        add_wraps(to->latency_log2, from->latency_log2);
        add_wraps(to->size_log2, from->size_log2);
    }
}

void wraps_apply(struct follower *f)
{
    for (size_t i = 0; f->wraps.n && i < f->fresh.n; i++) {
        const struct io_mount *wraps = find_mount(&f->wraps, &f->fresh.items[i]);

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

int wraps_blame(const struct follower *f, struct completeness *causes)
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
