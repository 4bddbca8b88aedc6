/* SPDX-License-Identifier: GPL-2.0-or-later */
#define _GNU_SOURCE /* vasprintf */
#include "common/text.h"

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

bool text_list_has(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; n && (at = strstr(at, name)); at += n)
        if ((at == list || at[-1] == ',') && (at[n] == ',' || at[n] == '\0'))
            return true;
    return false;
}
