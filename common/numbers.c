/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/numbers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int number_compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

bool number_is_in(const uint32_t *numbers, size_t n, uint32_t number)
{
    return n && bsearch(&number, numbers, n, sizeof(*numbers), number_compare);
}

int number_parse_prefix(const char **text, uint64_t *ret)
{
    const char *p = *text;
    uint64_t value = 0;

    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
            return -ERANGE;
    if (p == *text)
        return -EINVAL;
    *text = p;
    *ret = value;
    return 0;
}

int number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *ret)
{
    uint64_t value;
    int r;

    if (text[strspn(text, "0123456789")])
        return -EINVAL;
    r = number_parse_prefix(&text, &value);
    if (r < 0)
        return r;
    if (value < min || value > max)
        return -ERANGE;
    *ret = value;
    return 0;
}

char *number_format(char *to, uint64_t number)
{
    char digits[20];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + number % 10);
    while (number /= 10);
    while (n)
        *to++ = digits[--n];
    *to = '\0';
    return to;
}
