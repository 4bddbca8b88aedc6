/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums and maxima of counters, and decimal numbers in texts. */
#ifndef JOBIO_COMMON_NUMBERS_H
#define JOBIO_COMMON_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
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

/* Compare two uint32_t, for qsort(). */
int number_compare(const void *a, const void *b);
/* Returns whether the number is one of these n (ascending). */
bool number_is_in(const uint32_t *numbers, size_t n, uint32_t number);

/* Parse a text that is a decimal number: digits only, without sign or blanks, unlike strtoull().
 * 0; -EINVAL: not a number; -ERANGE: not from min to max. *ret is written only on success. */
int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret);
/* Parse the digits at *text and move *text past them. 0; -EINVAL: there is no digit; -ERANGE: above
 * UINT64_MAX. *text and *ret are written only on success. */
int number_parse_prefix(const char **text, uint64_t *ret);
/* Write the digits of a number, at most 20, and a NUL. Returns the address of the NUL. For many
 * numbers: sprintf() takes five times as long. */
char *number_format(char *to, uint64_t number);

#endif
