/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "common/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int error_set(struct error *error, int code, const char *format, ...)
{
    int saved = errno;
    va_list ap;

    if (!error)
        return code;
    va_start(ap, format);
    (void)vsnprintf(error->text, sizeof(error->text), format, ap);
    va_end(ap);
    errno = saved;
    return code;
}

int error_errno(struct error *error, int code, const char *format, ...)
{
    int saved = errno;
    va_list ap;
    size_t n;

    if (!error)
        return code;
    va_start(ap, format);
    (void)vsnprintf(error->text, sizeof(error->text), format, ap);
    va_end(ap);
    n = strlen(error->text);
    (void)snprintf(error->text + n, sizeof(error->text) - n, ": %s", strerror(-code));
    errno = saved;
    return code;
}

int error_prefix(struct error *error, int code, const char *format, ...)
{
    struct error old;
    va_list ap;
    size_t n;

    if (!error)
        return code;
    old = *error;
    va_start(ap, format);
    (void)vsnprintf(error->text, sizeof(error->text), format, ap);
    va_end(ap);
    n = strlen(error->text);
    (void)snprintf(error->text + n, sizeof(error->text) - n, ": %s", old.text);
    return code;
}

bool error_is_temporary(int code)
{
    return code == -ENOMEM || code == -EMFILE || code == -ENFILE || code == -EAGAIN ||
           code == -EINTR;
}
