/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_REPORT_SUMMARY_BUSIEST_H
#define JOBIO_REPORT_SUMMARY_BUSIEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/job.h"

/* A busy time of a mount: the bin with the most waiting per second (or the most bytes, if no thread
 * waited), and its neighbours that are at least half as busy. */
struct busiest_time {
    const struct io_mount *mount;
    uint64_t start_s, length_s;
    struct timeline_bin what; /* the sum of its bins */
};

/* The busiest times of all mounts, the busiest bin first; those of a mount do not overlap. Fills
 * at most `max`; returns how many. */
size_t summary_busiest(const struct io_mounts *mounts, struct busiest_time *ret, size_t max);
/* Whether it is at least twice as busy as its mount was on average. */
bool busiest_stands_out(const struct busiest_time *time);

#endif
