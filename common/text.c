/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* vasprintf */
#include "common/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

char *text_format(const char *format, ...)
{
    char *text;
    va_list ap;
    int n;

    va_start(ap, format);
    n = vasprintf(&text, format, ap);
    va_end(ap);
    return n < 0 ? NULL : text;
}

char *text_node_url(const char *pattern, const char *node, const char *path)
{
    const char *at = strstr(pattern, "%n"), *rest = at ? at + 2 : pattern;
    size_t n = strlen(rest);

    while (n && *path == '/' && rest[n - 1] == '/')
        n--;
    return text_format("%.*s%s%.*s%s", at ? (int)(at - pattern) : 0, pattern, at ? node : "",
                       (int)n, rest, path);
}

bool text_list_has(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; n && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}

#define NEAREST_MAX 32 /* longer words are not compared */

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The optimal string alignment distance of a[n] and b[m]; both are at most NEAREST_MAX. */
static size_t edit_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t d[NEAREST_MAX + 1][NEAREST_MAX + 1];

    for (size_t i = 0; i <= n; i++) {
        for (size_t k = 0; k <= m; k++) {
            if (i == 0 || k == 0) {
                d[i][k] = i + k;
                continue;
            }
            d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
                            d[i - 1][k - 1] + !same_letter(a[i - 1], b[k - 1]));
            if (i > 1 && k > 1 && same_letter(a[i - 1], b[k - 2]) &&
                same_letter(a[i - 2], b[k - 1]))
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    }
    return d[n][m];
}

void text_nearest_try(struct text_nearest *nearest, const char *name)
{
    size_t n = strlen(name), distance;

    if (n > NEAREST_MAX || nearest->n > NEAREST_MAX)
        return;
    distance = edit_distance(nearest->word, nearest->n, name, n);
    if (3 * distance > n || (nearest->name && distance >= nearest->distance))
        return;
    nearest->name = name;
    nearest->distance = distance;
}

const char *text_nearest_hint(const struct text_nearest *nearest, char buf[TEXT_HINT_SIZE])
{
    if (nearest->name)
        (void)snprintf(buf, TEXT_HINT_SIZE, "; did you mean \"%s\"?", nearest->name);
    else
        buf[0] = '\0';
    return buf;
}
