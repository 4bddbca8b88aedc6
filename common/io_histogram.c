/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/io_histogram.h"

#include "common/numbers.h"

/* The smallest n with v <= 2^n. */
static unsigned log2_ceil(uint64_t v)
{
    return v <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(v - 1);
}

unsigned io_size_bucket(uint64_t bytes)
{
    unsigned n = log2_ceil(bytes);

    return n < IO_BUCKETS ? n : IO_BUCKETS - 1;
}

unsigned io_latency_bucket(uint64_t ns)
{
    unsigned n = log2_ceil(ns);

    n = n > 7 ? n - 7 : 0;
    return n < IO_BUCKETS ? n : IO_BUCKETS - 1;
}

uint64_t io_size_bound(unsigned bucket)
{
    return bucket < IO_BUCKETS - 1 ? UINT64_C(1) << bucket : UINT64_MAX;
}

uint64_t io_latency_bound(unsigned bucket)
{
    return bucket < IO_BUCKETS - 1 ? UINT64_C(1) << (bucket + 7) : UINT64_MAX;
}

uint64_t io_quantile(const uint64_t buckets[IO_BUCKETS], double q, uint64_t (*bound)(unsigned))
{
    uint64_t total = 0, seen = 0;
    double rank;

    for (unsigned i = 0; i < IO_BUCKETS; i++)
        add_saturating(&total, buckets[i]);
    if (!total)
        return 0;
    rank = q * (double)total;
    for (unsigned i = 0; i < IO_BUCKETS; i++) {
        add_saturating(&seen, buckets[i]);
        if (seen && (double)seen >= rank)
            return bound(i);
    }
    return bound(IO_BUCKETS - 1);
}

uint64_t io_latency_median(const uint64_t latency_log2[IO_BUCKETS])
{
    uint64_t calls = 0;

    for (unsigned i = 0; i < IO_BUCKETS; i++)
        add_saturating(&calls, latency_log2[i]);
    return calls < IO_MEDIAN_CALLS ? 0 : io_quantile(latency_log2, 0.5, io_latency_bound);
}

void io_histogram_add(uint64_t to[IO_BUCKETS], const uint64_t from[IO_BUCKETS])
{
    for (unsigned i = 0; i < IO_BUCKETS; i++)
        add_saturating(&to[i], from[i]);
}
