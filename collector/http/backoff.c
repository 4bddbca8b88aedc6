/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/backoff.h"

#include <sys/random.h>

#include "common/clock.h"

uint64_t pace_random_to(uint64_t top)
{
    uint64_t r;

    if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
        r = clock_ns(CLOCK_BOOTTIME) * UINT64_C(0x9e3779b97f4a7c15);
    return top == UINT64_MAX ? r : r % (top + 1);
}

uint64_t pace_jittered(uint64_t ns)
{
    return ns - ns / 10 + pace_random_to(ns / 5);
}

uint64_t pace_backoff(uint64_t step_ns, uint64_t top_ns, uint64_t failures)
{
    for (uint64_t i = 1; i < failures && step_ns < top_ns; i++)
        step_ns *= 2;
    return pace_random_to(step_ns < top_ns ? step_ns : top_ns);
}
