/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/http/backoff.h"

#include <sys/random.h>

#include "common/clock.h"

/* random() without a seed returns the same sequence on all nodes. */
uint64_t backoff_random(uint64_t max)
{
    uint64_t r;

    if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
        r = clock_ns(CLOCK_BOOTTIME) * UINT64_C(0x9e3779b97f4a7c15);
    return max == UINT64_MAX ? r : r % (max + 1);
}

uint64_t backoff_jittered(uint64_t ns)
{
    return ns - ns / 10 + backoff_random(ns / 5);
}

uint64_t backoff_wait(uint64_t step_ns, uint64_t max_ns, uint64_t failures)
{
    for (uint64_t i = 1; i < failures && step_ns < max_ns; i++)
        step_ns *= 2;
    return backoff_random(step_ns < max_ns ? step_ns : max_ns);
}
