/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and maxima of counters. */
#ifndef JOBIO_COMMON_NUMBERS_H
#define JOBIO_COMMON_NUMBERS_H

#include <stdint.h>

/* A sum that does not fit stays at UINT64_MAX, which no real counter reaches. */
static inline void add_saturating(uint64_t *to, uint64_t more)
{
    if (__builtin_add_overflow(*to, more, to))
        *to = UINT64_MAX;
}

static inline void raise_to(uint64_t *to, uint64_t value)
{
    if (value > *to)
        *to = value;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

#endif
