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
