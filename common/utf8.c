/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE
#include "common/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNICODE_LAST 0x10ffff

size_t utf8_decode(const char *text, uint32_t *ret)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *s = (const unsigned char *)text;
    size_t n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
    uint32_t c;

    if (n == 0)
        return 0;
    c = n == 1 ? *s : *s & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    if (c < smallest[n] || c > UNICODE_LAST || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    *ret = c;
    return n;
}

int utf8_fit(const char *text, size_t max)
{
    size_t length = strnlen(text, max), cut = length;

    /* A sequence has at most three bytes behind its first one. */
    while (length == max && cut > 0 && length - cut < 3 && (unsigned char)text[cut] >> 6 == 2)
        cut--;
    return (int)cut;
}

bool utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c || c == 0x200e || c == 0x200f ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static char *replace_unsafe(const char *text, bool keep_c0, uint32_t last)
{
    char *copy = strdup(text), *to = copy;
    const char *s = text;

    if (!copy)
        return NULL;
    while (*s) {
        uint32_t c;
        size_t n = utf8_decode(s, &c);

        if (n && c <= last && (!utf8_is_control(c) || (keep_c0 && c < 0x20))) {
            memcpy(to, s, n);
            to += n;
        } else {
            *to++ = '?';
        }
        s += n ? n : 1;
    }
    *to = '\0';
    return copy;
}

static uint32_t last_code = UNICODE_LAST;

void utf8_sanitize_to_ascii(bool yes)
{
    last_code = yes ? 0x7f : UNICODE_LAST;
}

char *utf8_sanitize(const char *text)
{
    return replace_unsafe(text, false, last_code);
}

char *utf8_clean(const char *text)
{
    return replace_unsafe(text, true, UNICODE_LAST);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of a "\xNN" at `s`; -1 if there is none. */
static int decode_escape(const char *s)
{
    int high, low;

    if (s[0] != '\\' || s[1] != 'x')
        return -1;
    high = hex_digit(s[2]);
    low = high < 0 ? -1 : hex_digit(s[3]);
    return low < 0 ? -1 : high << 4 | low;
}

char *utf8_escape(const char *text)
{
    char *copy = malloc(4 * strlen(text) + 1), *to = copy;
    const char *s = text;

    if (!copy)
        return NULL;
    while (*s) {
        uint32_t c;
        size_t n = utf8_decode(s, &c), length = n ? n : 1;
        bool is_safe = n && (!utf8_is_control(c) || c < 0x20) && decode_escape(s) < 0;

        for (; length; length--, s++)
            if (is_safe)
                *to++ = *s;
            else
                to += sprintf(to, "\\x%02x", (unsigned char)*s);
    }
    *to = '\0';
    return copy;
}

void utf8_unescape(char *text)
{
    char *to = text;

    for (const char *s = text; *s;) {
        int byte = decode_escape(s);

        *to++ = (char)(byte > 0 ? byte : *s);
        s += byte > 0 ? 4 : 1;
    }
    *to = '\0';
}
