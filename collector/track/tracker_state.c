/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collector/track/tracker_state.h"

#include <stdarg.h>
#include <stdio.h>

#include "collector/sample/sampler.h"
#include "common/clock.h"

void tracker_log(struct tracker *tracker, enum log_level level, const char *format, ...)
{
    char text[512];
    va_list ap;

    if (!tracker->hooks.log)
        return;
    va_start(ap, format);
    (void)vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    tracker->hooks.log(level, text, tracker->hooks.arg);
}

int tracker_read(struct tracker *tracker, bool tick, struct error *error)
{
    uint64_t now = clock_ns(CLOCK_BOOTTIME);
    int r = tick ? sampler_read(tracker->sampler, now, error)
                 : sampler_peek(tracker->sampler, NULL, 0, now, error);

    if (!r) {
        tracker->read_at_ns = now;
        tracker->read_cost_ns = clock_ns(CLOCK_BOOTTIME) - now;
    }
    return r;
}
