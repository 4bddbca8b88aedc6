/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef JOBIO_COMMON_CLOCK_H
#define JOBIO_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MINUTE (60 * NS_PER_S)
#define NS_PER_HOUR (60 * NS_PER_MINUTE)
#define NS_PER_DAY (24 * NS_PER_HOUR)
#define US_PER_S UINT64_C(1000000)

/* Returns the time of the clock. Does not fail for the clocks that jobio uses. */
static inline uint64_t clock_ns(clockid_t clock)
{
    struct timespec ts = {0, 0};

    (void)clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Returns the milliseconds until `deadline_ns` (CLOCK_MONOTONIC), at most `most`; 0 if it has
 * passed. */
static inline unsigned clock_left_ms(uint64_t deadline_ns, unsigned most)
{
    uint64_t now = clock_ns(CLOCK_MONOTONIC);
    uint64_t left = now < deadline_ns ? (deadline_ns - now) / NS_PER_MS : 0;

    return left < most ? (unsigned)left : most;
}

#endif
