/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sd-event.h has since systemd 243 and 247, for older ones. */
#ifndef JOBIO_COMPAT_SD_EVENT_H
#define JOBIO_COMPAT_SD_EVENT_H

#include_next <systemd/sd-event.h>

#include <errno.h>
#include <stddef.h>
#include <time.h>

#define sd_event_add_time_relative compat_add_time_relative
#define sd_event_source_set_time_relative compat_set_time_relative
#define sd_event_source_disable_unref compat_disable_unref

/* sd_event_now() is the time at which the events being handled were found. */
static inline int compat_add(sd_event *event, clockid_t clock, uint64_t *usec)
{
    uint64_t now;
    int r = sd_event_now(event, clock, &now);

    if (r >= 0 && __builtin_add_overflow(*usec, now, usec))
        r = -EOVERFLOW;
    return r;
}

static inline int compat_add_time_relative(sd_event *event, sd_event_source **source,
                                           clockid_t clock, uint64_t usec, uint64_t accuracy,
                                           sd_event_time_handler_t handler, void *arg)
{
    int r = compat_add(event, clock, &usec);

    return r < 0 ? r : sd_event_add_time(event, source, clock, usec, accuracy, handler, arg);
}

static inline int compat_set_time_relative(sd_event_source *source, uint64_t usec)
{
    clockid_t clock;
    int r = sd_event_source_get_time_clock(source, &clock);

    if (r >= 0)
        r = compat_add(sd_event_source_get_event(source), clock, &usec);
    return r < 0 ? r : sd_event_source_set_time(source, usec);
}

static inline sd_event_source *compat_disable_unref(sd_event_source *source)
{
    if (source)
        (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
    return sd_event_source_unref(source);
}

#endif
