/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/daemon/limited_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/error.h"
#include "common/log.h"

void log_limited(const char *key, unsigned seconds, const char *format, ...)
{
    struct error error;
    unsigned held = 0;
    va_list ap;

    if (!log_allowed(key, seconds, &held))
        return;
    va_start(ap, format);
    (void)vsnprintf(error.text, sizeof(error.text), format, ap);
    va_end(ap);
    if (held)
        log_warning("%s (%u more like this)", error.text, held);
    else
        log_warning("%s", error.text);
}
