/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The busiest interval of something that grows: a step, or a job as the sum over its steps. No
 * interval is shorter than half the configured one: a shorter one is joined with its neighbour.
 * Bytes are counted when a call returns. If it took longer than the interval, only a part of them
 * belongs to the interval: that of the longest call, for all calls in buckets of the histogram that
 * end after the interval.
 */
#ifndef JOBIO_COLLECTOR_SAMPLE_METER_H
#define JOBIO_COLLECTOR_SAMPLE_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/account.h"

struct meter;

/* NULL: out of memory. start_ns: when everything was zero. */
struct meter *meter_create(uint64_t interval_ns, uint64_t start_ns);
void meter_destroy(struct meter *meter); /* NULL is fine */

/* Go on from `mounts` as they were at at_ns: their totals start the open interval, their peaks are
 * the peaks so far. Before the first tick. 0 or -ENOMEM. */
int meter_resume(struct meter *meter, const struct io_mounts *mounts, uint64_t at_ns);

/* One reading: start it, add every part of the sum, end it with the time of the reading. tick:
 * an interval ends here; otherwise the reading only counts for meter_fill(). */
void meter_start(struct meter *meter);
int meter_add(struct meter *meter, const struct io_mounts *mounts); /* 0 or -ENOMEM */
void meter_end(struct meter *meter, uint64_t now_ns, bool tick);

/* Set the peaks in `mounts`: by operation the busiest interval, at least the mean of the totals in
 * `mounts` over elapsed_ns. */
void meter_fill(const struct meter *meter, struct io_mounts *mounts, uint64_t elapsed_ns);

#endif
