/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms in powers of two: sizes in bytes, latencies in nanoseconds. */
#ifndef JOBIO_COMMON_IO_HISTOGRAM_H
#define JOBIO_COMMON_IO_HISTOGRAM_H

#include <stdint.h>

#include "common/io_op.h"

/* The bucket of a value, by the rules in io_op.h. */
unsigned io_size_bucket(uint64_t bytes);
unsigned io_latency_bucket(uint64_t ns);
/* The inclusive upper bound of a bucket; UINT64_MAX for the last. */
uint64_t io_size_bound(unsigned bucket);
uint64_t io_latency_bound(unsigned bucket);
/* The upper bound of the bucket that holds the q-quantile (0 <= q <= 1) of a histogram; `bound` is
 * one of the two functions above. 0 for an empty histogram. */
uint64_t io_quantile(const uint64_t buckets[IO_BUCKETS], double q, uint64_t (*bound)(unsigned));

/* Median latency (upper bound of its bucket). 0 for fewer than IO_MEDIAN_CALLS calls, which are too
 * few for a median. */
#define IO_MEDIAN_CALLS 10
uint64_t io_latency_median(const uint64_t latency_log2[IO_BUCKETS]);

/* to += from, bucket by bucket. */
void io_histogram_add(uint64_t to[IO_BUCKETS], const uint64_t from[IO_BUCKETS]);

#endif
